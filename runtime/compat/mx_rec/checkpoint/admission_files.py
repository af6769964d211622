"""Rec SDK's files of admission and eviction: `table_2_threshold` and `history_record` of a table.

The first is int32 [count, seconds, whether counting is on], the second int64: the newest time, then key, count and time
of the last occurrence of each key, including keys without a row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.checkpoint import CheckpointError
from runtime.checkpoint.admission_counters import Seen, parse, with_seen
from runtime.table.admission_rules import AdmissionRules

_THRESHOLDS, _HISTORY = "table_2_threshold", "history_record"
#: The directories, including those that Rec SDK's host writes but that are not needed here.
ITEMS = (_THRESHOLDS, _HISTORY, "key_count_map", "ddr_key_freq_map", "exclude_ddr_key_freq_map", "evict_pos")
_OFF = -1


def items_of(meta: NDArray[np.int64], rules: AdmissionRules | None) -> dict[str, NDArray[Any]]:
    """Return the arrays of a table that counts its keys, by directory name; empty for other tables."""
    seen = parse(meta)
    if seen is None or rules is None or rules.access_threshold is None:
        return {}
    access, frozen = (int(one) for one in seen.threshold) if len(seen.threshold) else (_OFF, 0)
    seconds = _OFF if rules.eviction_threshold is None else rules.eviction_threshold
    known = np.stack([seen.keys, seen.sightings >> 32, (seen.sightings & 0xFFFFFFFF) - 1], axis=1)
    known[:, 2] = np.maximum(known[:, 2], 0)
    return {
        _THRESHOLDS: np.array([rules.access_threshold if access < 0 else access, seconds, not frozen], np.int32),
        _HISTORY: np.concatenate([[max(seen.newest, 0)], known.reshape(-1)]).astype(np.int64),
    }


def attribute_of(item: str, array: NDArray[Any]) -> list[int]:
    """Return the attribute of an item: its shape and the bytes of a value; for a history the number of keys."""
    shape = [(len(array) - 1) // 3] if item == _HISTORY else array.shape
    return [*shape, array.itemsize]


def with_counters(meta: NDArray[np.int64], folder: Path) -> NDArray[np.int64]:
    """Return metadata with the counters and thresholds of Rec SDK's files for a table, if there are any.

    The attribute file is ignored, because Rec SDK divides it by the row width when it merges ranks.

    Raises:
        CheckpointError: a file is truncated, or several ranks wrote it.
    """
    if not (folder / _HISTORY / "slice.data").is_file() or not (folder / _THRESHOLDS / "slice.data").is_file():
        return meta
    history = np.fromfile(folder / _HISTORY / "slice.data", np.int64)
    limits = np.fromfile(folder / _THRESHOLDS / "slice.data", np.int32)
    if len(history) % 3 != 1 or len(limits) != 3 or history[1:].reshape(-1, 3)[:, 1:].min(initial=0) < 0:
        raise CheckpointError(
            f"{folder} has a {_HISTORY} of {len(history)} numbers and a {_THRESHOLDS} of {len(limits)}, which is not "
            "the output of one rank: restore a checkpoint of one rank, or remove both folders to count from zero"
        )
    keys, counts, times = history[1:].reshape(-1, 3).T
    sightings = np.minimum(counts, 0xFFFFFFFF).astype(np.uint64) << np.uint64(32) | (times + 1).astype(np.uint64)
    no_filter, nothing = np.zeros(4, np.int64), np.zeros(0, np.int64)
    said = np.array([max(int(limits[0]), 0), limits[2] != 1], np.int64)
    return with_seen(
        meta, Seen(int(history[0]), np.ascontiguousarray(keys), sightings.view(np.int64), no_filter, nothing, said)
    )
