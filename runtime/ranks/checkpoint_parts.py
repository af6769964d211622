"""The files of a checkpoint of several ranks.

Each rank writes what it holds to `<prefix>.rank-<r>-of-<n>`; a small file `<prefix>.ranks` marks it as complete.
"""

from __future__ import annotations

import json
from pathlib import Path

from runtime.ranks.engine import RanksError

_MARK = ".ranks"


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
