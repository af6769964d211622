"""Selects a rank's share from the rows that all ranks saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.checkpoint.admission_counters import meta_of_rank
from runtime.ranks import placements
from runtime.table.table import Table

#: Keys [n], values [n, dim], slots [n, slots * dim] and metadata, as in a snapshot.
Rows = tuple[NDArray[Any], ...]


def own_rows(table: Table, rows: Sequence[NDArray[Any]]) -> Rows:
    """Return which of a part's rows this rank holds."""
    keys, values, slots, meta = rows
    if table.arguments.base_buckets is not None:
        keys = table.arguments.base_buckets.key_of(keys, meta)
    mine = placements.held_here(keys, table.placement, table.has_base)
    return keys[mine], values[mine], slots[mine], meta


def merged(table: Table, parts: Sequence[Rows], whole: bool = False) -> Rows:
    """Return the rows of this rank from its share of each part; with `whole`, the rows of all ranks."""

    def held(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.full(keys.shape, True) if whole else placements.held_here(keys, table.placement)

    parts = parts[:1] if table.placement == "replicated" else parts
    # A part without rows may never have been trained and have no slots, but it may have counters.
    ordered = sorted(parts, key=lambda part: (len(part[0]) == 0, -part[2].shape[1]))
    filled = [one for one in ordered if len(one[0])] or ordered[:1]
    keys, values, slots = (np.concatenate(arrays) for arrays in zip(*(one[:3] for one in filled), strict=True))
    meta = meta_of_rank([one[3] for one in ordered], held)
    return keys, values, slots, meta
