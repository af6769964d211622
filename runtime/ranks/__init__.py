"""Several processes that train one model: each holds the rows of its share of the keys, and a copy of the rest.

`python -m runtime.launch -n 2 train.py` starts a program as ranks 0 and 1; it calls `runtime.ranks.start()` first.
"""

from __future__ import annotations

from runtime.ranks import drift as _drift  # noqa: F401  # v1 optimizers ask it
from runtime.ranks.engine import Engine, RanksError, Route
from runtime.ranks.gradients import reduced_gradients
from runtime.ranks.process_group import current, local_rank, missing, rank, size, start, stop
from runtime.ranks.replicated_variables import BroadcastHook, broadcast

__all__ = [
    "BroadcastHook",
    "Engine",
    "RanksError",
    "Route",
    "broadcast",
    "current",
    "local_rank",
    "missing",
    "rank",
    "reduced_gradients",
    "size",
    "start",
    "stop",
]
