"""The rows of one table that changed between two checkpoints."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from runtime.checkpoint.rows import TableRows


@dataclasses.dataclass(frozen=True)
class Delta:
    """The rows that were added or changed, and the keys that were removed."""

    rows: TableRows
    removed: NDArray[np.int64]


def apply_delta(rows: TableRows, delta: Delta) -> TableRows:
    """Return `rows` with the changes of `delta`; remaining rows keep their order and come first."""
    stay = rows.take(~np.isin(rows.keys, np.concatenate([delta.rows.keys, delta.removed])))
    keys = np.concatenate([stay.keys, delta.rows.keys])
    values = np.concatenate([stay.values, delta.rows.values])
    return TableRows(keys, values, np.concatenate([stay.slots, delta.rows.slots]), delta.rows.meta)
