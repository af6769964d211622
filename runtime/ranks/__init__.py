"""Several processes (ranks) that train one model: each holds a share of the rows, and a copy of all other variables.

`python -m runtime.launch -n 2 train.py` starts a program as ranks 0 and 1; it calls `runtime.ranks.start()` first.
"""

from __future__ import annotations

from runtime.ranks import drift as _drift  # noqa: F401  # extends v1 optimizers
from runtime.ranks.engine import Engine, RanksError, Route
from runtime.ranks.gradients import reduced_gradients
from runtime.ranks.planning.costs import Costs
from runtime.ranks.planning.plan import Plan, plan
from runtime.ranks.planning.uses import TableUse
from runtime.ranks.process_group import current, local_rank, missing, rank, size, start, stop
from runtime.ranks.replicated_variables import BroadcastHook, broadcast

__all__ = [
    "BroadcastHook",
    "Costs",
    "Engine",
    "Plan",
    "RanksError",
    "Route",
    "TableUse",
    "broadcast",
    "current",
    "local_rank",
    "missing",
    "plan",
    "rank",
    "reduced_gradients",
    "size",
    "start",
    "stop",
]
