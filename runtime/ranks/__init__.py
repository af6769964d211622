"""Several processes that train one model: each holds the rows of its share of the keys, and a copy of the rest.

`python -m runtime.launch -n 2 train.py` starts a program as ranks 0 and 1; it calls `runtime.ranks.start()` first.
"""

from __future__ import annotations

from runtime.ranks.engine import Engine, RanksError, Route
from runtime.ranks.gradients import broadcast, reduced_gradients
from runtime.ranks.starting import current, rank, size, start, stop

__all__ = [
    "Engine",
    "RanksError",
    "Route",
    "broadcast",
    "current",
    "rank",
    "reduced_gradients",
    "size",
    "start",
    "stop",
]
