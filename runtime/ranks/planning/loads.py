"""What a table adds to each rank under a placement: bytes, seconds of computing, memory.

The formulas are those of docs/scaling.md. All ranks are taken to have batches alike, so what a rank sends to another
depends on the one that holds the rows. An exchange is as long as its longest part: TensorFlow's collectives pad the
others to it, and without padding the rank with the longest part is the last to be done.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.ranks.planning.costs import Costs
from runtime.ranks.planning.uses import INDEX_BYTES, TableUse

_Floats = NDArray[np.float64]

#: Lengths are an eighth apart, so padding is a sixteenth on average.
PADDING = 17 / 16
_EXCHANGES = 4
DISTRIBUTED, REPLICATED, LOCALIZED, COLUMNS = "distributed", "replicated", "localized:", "columns:"


@dataclass(frozen=True)
class Load:
    """What one or more tables add.

    Attributes:
        ids: bytes of ids that each other rank sends to this one, [ranks].
        rows: bytes of rows or sums that it sends back, with the gradients that come for them, [ranks].
        gathered: bytes that each rank sends for replicated tables.
        compute: seconds of computing, [ranks].
        memory: bytes of rows, slots and index, [ranks].
        shared, copied: number of tables that are exchanged, and that are replicated.
    """

    ids: _Floats
    rows: _Floats
    gathered: float
    compute: _Floats
    memory: _Floats
    shared: int
    copied: int

    def plus(self, other: Load, sign: int = 1) -> Load:
        """Return the sum, or with -1 the difference."""
        return Load(
            self.ids + sign * other.ids,
            self.rows + sign * other.rows,
            self.gathered + sign * other.gathered,
            self.compute + sign * other.compute,
            self.memory + sign * other.memory,
            self.shared + sign * other.shared,
            self.copied + sign * other.copied,
        )

    def sent(self) -> float:
        """Return the bytes that the busiest rank sends in a step, as long as its longest parts."""
        others = len(self.ids) - 1
        return float(others * (self.ids.max() + self.rows.max()) * PADDING + self.gathered)

    def parts(self, costs: Costs) -> tuple[float, float, float]:
        """Return the seconds of a step: latency of its exchanges, bytes, computing of the busiest rank."""
        exchanges = 0 if len(self.ids) == 1 else _EXCHANGES * ((self.shared > 0) + (self.copied > 0))
        return exchanges * costs.exchange, self.sent() * costs.byte, float(self.compute.max())

    def seconds(self, costs: Costs) -> float:
        """Return the seconds of a step, as far as tables take them; nothing is taken to overlap."""
        return sum(self.parts(costs))


def nothing(ranks: int) -> Load:
    """Return the load without tables."""
    zeros = np.zeros(ranks)
    return Load(zeros, zeros, 0.0, zeros, zeros, 0, 0)


def load_of(use: TableUse, batch: int, ranks: int, placement: str, costs: Costs) -> Load:
    """Return what a table adds, given the samples of a rank's batch."""
    asked = batch * use.ids
    distinct = min(asked * use.distinct, use.rows)
    zeros, ones = np.zeros(ranks), np.ones(ranks)
    memory = ones * use.rows * (use.value_bytes + INDEX_BYTES)
    work = asked * costs.id + costs.table
    row = costs.row + use.dim * costs.value
    if placement == REPLICATED:
        gathered = (ranks - 1) * distinct * (8 + 4 * use.dim) * PADDING
        compute = ones * (work + ranks * distinct * row)
        return Load(zeros, zeros, gathered, compute, memory, 0, 1)
    if placement == DISTRIBUTED:
        share = 1 / ranks
        id_bytes, row_bytes = _message(use, batch, share)
        compute = ones * (work + distinct * row)
        return Load(ones * id_bytes, ones * row_bytes, 0.0, compute, memory / ranks, 1, 0)
    return _by_rank(use, batch, ranks, placement, costs)


def _by_rank(use: TableUse, batch: int, ranks: int, placement: str, costs: Costs) -> Load:
    """Return the load of a table that lies on one rank, or of parts of columns that do."""
    number = int(placement.partition(":")[2])
    parts, first = (number, 0) if placement.startswith(COLUMNS) else (1, number)
    asked = batch * use.ids
    held = np.bincount([(first + part) % ranks for part in range(parts)], minlength=ranks).astype(float)
    id_bytes, row_bytes = _message(use, batch, 1.0, use.dim // parts)
    values = use.dim // parts * costs.value
    compute = parts * (asked * costs.id + costs.table) + held * ranks * min(asked * use.distinct, use.rows) * (
        costs.row + values
    )
    memory = held * use.rows * (use.value_bytes / parts + INDEX_BYTES)
    return Load(held * id_bytes, held * row_bytes, 0.0, compute, memory, parts, 0)


def _message(use: TableUse, batch: int, share: float, dim: int = 0) -> tuple[float, float]:
    """Return bytes of ids, and of rows with their gradients, between two ranks, one of which has a share of the rows.

    Of bags the lesser of rows and sums goes, as runtime/native/store/exchange counts it.
    """
    dim = dim or use.dim
    occurrences = batch * use.ids * share
    distinct = min(occurrences * use.distinct, use.rows * share)
    rows = 8 * distinct, 8 * dim * distinct
    if not use.pooled or occurrences == 0:
        return rows
    bags = batch * (1 - (1 - share) ** use.ids if share < 1 else min(1.0, use.ids))
    width = 1 if distinct <= 1 << 8 else 2 if distinct <= 1 << 16 else 4
    places = 8 * (1 + math.ceil(occurrences / 64) + math.ceil(width * occurrences / 8))
    sums = 8 * distinct + places, 8 * dim * bags
    return min(rows, sums, key=sum)


def options(use: TableUse, ranks: int, allowed: Any) -> list[str]:
    """Return the placements that a table can have, of these kinds."""
    kinds = [kind for kind in (DISTRIBUTED, REPLICATED) if kind in allowed]
    if "localized" in allowed:
        kinds += [f"{LOCALIZED}{rank}" for rank in range(ranks)]
    if "columns" in allowed:
        kinds += [f"{COLUMNS}{parts}" for parts in range(2, ranks + 1) if use.dim % parts == 0 and ranks % parts == 0]
    return kinds
