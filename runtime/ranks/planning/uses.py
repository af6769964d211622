"""What a plan is made from: sizes of a table, and how a batch looks it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Bytes of an index entry and reserves that a row takes beyond value and slots.
INDEX_BYTES = 20
_VALUE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class TableUse:
    """Sizes of a table, and its ids in the batch of one rank.

    Attributes:
        rows: how many rows the table will have, on all ranks together.
        dim: values of a row.
        ids: ids of a sample, on average.
        distinct: distinct ids of a batch as a share of all its ids, above 0 and at most 1.
        pooled: whether the ids of a sample are summed or averaged (bags without weights and `max_norm`).
        slots: optimizer's values of a row as multiples of `dim`: 0 for SGD, 1 for Adagrad, 2 for Adam.
        value_dtype: "float32", "bfloat16" or "float16", as in `create_table`.

    Raises:
        ValueError: a number is out of its range, or the type is unknown.
    """

    rows: int
    dim: int
    ids: float = 1.0
    distinct: float = 1.0
    pooled: bool = False
    slots: int = 1
    value_dtype: str = "float32"

    def __post_init__(self) -> None:
        for name, least in (("rows", 1), ("dim", 1), ("slots", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"`{name}` of a TableUse is {getattr(self, name)}: it must be {least} or more")
        if not self.ids >= 0:
            raise ValueError(f"`ids` of a TableUse is {self.ids}: it must be 0 or more ids of a sample")
        if not 0 < self.distinct <= 1:
            raise ValueError(f"`distinct` of a TableUse is {self.distinct}: it must be a share above 0 and at most 1")
        if self.value_dtype not in _VALUE_BYTES:
            raise ValueError(f"`value_dtype` {self.value_dtype!r} must be one of {', '.join(_VALUE_BYTES)}")

    @property
    def value_bytes(self) -> int:
        """Memory of the values and slots (float32) of a row."""
        return self.dim * (_VALUE_BYTES[self.value_dtype] + 4 * self.slots)

    @classmethod
    def counted(cls, batches: Sequence[Any], rows: int, dim: int, **more: Any) -> TableUse:
        """Return the use of a table that batches of one rank show, as large as they will be in training.

        Args:
            batches: of each, ids [samples] or [samples, ids of a sample], or a list with an array for each sample.
            rows: see above.
            dim: see above.
            more: `pooled`, `slots`, `value_dtype`.

        Raises:
            ValueError: there is no id, or a number is out of its range.
        """
        flat = [_flat(batch) for batch in batches]
        samples, count = sum(len(batch) for batch in batches), sum(one.size for one in flat)
        if not count:
            raise ValueError("the batches to count hold no id: give some of those that a rank trains on")
        distinct = sum(np.unique(one).size for one in flat) / count
        return cls(rows, dim, count / samples, distinct, **more)


def _flat(batch: Any) -> Any:
    if isinstance(batch, (list, tuple)) and any(np.ndim(one) for one in batch):
        return np.concatenate([np.ravel(one) for one in batch])
    return np.ravel(batch)
