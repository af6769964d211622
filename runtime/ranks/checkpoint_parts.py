"""The files of a checkpoint of several ranks, and the selection of one rank's rows from them.

Each rank writes what it holds to `<prefix>.rank-<r>-of-<n>`; a small file `<prefix>.ranks` marks it as complete.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.checkpoint.admission_counters import meta_of_rank
from runtime.ranks import placements
from runtime.ranks.engine import RanksError
from runtime.table.table import Table

_MARK = ".ranks"

#: Keys [n], values [n, dim], slots [n, slots * dim] and metadata, as in a snapshot.
Rows = tuple[NDArray[Any], ...]


def part_of(prefix: str, rank: int, size: int) -> str:
    """Return the prefix of the files of one rank."""
    return f"{prefix}.rank-{rank}-of-{size}"


def unmark(prefix: str) -> None:
    """Mark the checkpoint as incomplete or missing, and create its directory."""
    mark = Path(prefix + _MARK)
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.unlink(missing_ok=True)


def mark_whole(prefix: str, ranks: int, beside: bool = False) -> None:
    """Mark the checkpoint as complete, `beside` an ordinary checkpoint `prefix` that is written next."""
    mark = Path(prefix + _MARK)
    new = mark.with_name(mark.name + ".new")
    new.write_text(json.dumps({"ranks": ranks, "beside": beside}) + "\n", encoding="utf-8")
    new.replace(mark)


def parts_of(prefix: str) -> list[str]:
    """Return the prefixes of the ranks' files.

    Raises:
        RanksError: there is no complete checkpoint of that name.
    """
    size = _ranks_of(prefix)
    if size is None:
        raise RanksError(
            f"there is no complete checkpoint {prefix}: {prefix}{_MARK}, which `save` writes last, cannot be read; "
            "choose another, such as latest(folder) of runtime.ranks.checkpoint"
        )
    return [part_of(prefix, rank, size) for rank in range(size)]


def is_whole(prefix: str) -> bool:
    """Whether there is a complete checkpoint of that name by several ranks."""
    return _ranks_of(prefix) is not None


def removed(prefix: str) -> None:
    """Remove the files of a checkpoint's ranks."""
    mark = Path(prefix + _MARK)
    mark.unlink(missing_ok=True)
    for file in mark.parent.glob(f"{Path(prefix).name}.rank-*-of-*"):
        file.unlink(missing_ok=True)


def latest(folder: str) -> str | None:
    """Return the prefix of the newest complete checkpoint in a directory, or None."""
    marks = sorted(Path(folder).glob(f"*{_MARK}"), key=lambda mark: mark.stat().st_mtime_ns, reverse=True)
    prefixes = (str(mark).removesuffix(_MARK) for mark in marks)
    return next(filter(is_whole, prefixes), None)


def _ranks_of(prefix: str) -> int | None:
    """Return how many ranks wrote the checkpoint; None if it is incomplete."""
    try:
        mark = json.loads(Path(prefix + _MARK).read_text(encoding="utf-8"))
        return int(mark["ranks"]) if not mark.get("beside") or Path(f"{prefix}.index").exists() else None
    except (OSError, AttributeError, KeyError, TypeError, ValueError):
        return None


def own_rows(table: Table, rows: Sequence[NDArray[Any]]) -> Rows:
    """Return which of a part's rows this rank holds."""
    keys, values, slots, meta = rows
    mine = placements.held_here(keys, table.placement)
    return keys[mine], values[mine], slots[mine], meta


def merged(table: Table, parts: Sequence[Rows], whole: bool = False) -> Rows:
    """Return the rows of this rank from its share of each part; with `whole`, the rows of all ranks."""

    def held(keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.full(keys.shape, True) if whole else placements.held_here(keys, table.placement)

    parts = parts[:1] if table.placement == "replicated" else parts
    # A part without rows may never have been trained and have no slots, but it may have counters.
    ordered = sorted(parts, key=lambda one: (len(one[0]) == 0, -one[2].shape[1]))
    filled = [one for one in ordered if len(one[0])] or ordered[:1]
    keys, values, slots = (np.concatenate(arrays) for arrays in zip(*(one[:3] for one in filled), strict=True))
    meta = meta_of_rank([one[3] for one in ordered], held)
    return keys, values, slots, meta
