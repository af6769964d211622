"""Undoes conversions with their stored edits, for all requested files or for none."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from migrate.errors import MigrateError
from migrate.regular_files import read_regular
from migrate.source.files.atomic_write import check_writable, lines_of, write_atomically
from migrate.source.files.journal import PLACE, Entry, Journal, bytes_of, digest, journals_above, text_of
from migrate.source.files.path_lookup import printable
from migrate.source.files.staying_inside import is_walked

_RANGE = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Reverted:
    """One file: its current bytes, its original bytes, and the stored edits between the two."""

    path: Path
    now: bytes
    before: bytes
    used: tuple[Entry, ...]
    journal: Journal  #: the journal with the edits
    remaining: int = 0  #: number of earlier conversions that cannot be undone because of later changes

    @property
    def changed(self) -> bool:
        """False for a file that already has its original contents."""
        return self.now != self.before


@dataclass
class _Stored:
    """The conversions of one file, oldest first."""

    path: Path
    journal: Journal
    entries: list[Entry] = field(default_factory=list)


def plan(paths: Sequence[str], *, merge: bool) -> list[Reverted]:
    """Return what reverting would do; nothing is written.

    Args:
        paths: files and directories; empty for all files of the nearest journal at or above the working directory.
        merge: keep later changes of a file and undo only the converted lines.

    Raises:
        MigrateError: a file has no stored edits, or was changed since.
    """
    return [_reverted(item, merge) for item in _in_journals(paths)]


def apply(plan: Sequence[Reverted]) -> None:
    """Write all files or none, and remove their edits from the journals; raises MigrateError if a write fails."""
    changed = [item for item in plan if item.changed]
    for item in changed:
        check_writable(item.path)
    done: list[Reverted] = []
    try:
        for item in changed:
            done.append(item)
            write_atomically(item.path, item.before)
    except BaseException:
        for item in done:
            write_atomically(item.path, item.now)
        raise
    journals = {id(item.journal): item.journal for item in plan}
    for journal in journals.values():
        used = {id(entry) for item in plan for entry in item.used}
        journal.entries = [entry for entry in journal.entries if id(entry) not in used]
        journal.write()


def still_converted(done: Sequence[Reverted]) -> list[str]:
    """Return further files of the same journals that are still converted."""
    journals = {id(item.journal): item.journal for item in done}
    own = {_real(item.path) for item in done}
    places = {journal.path_of(entry): entry for journal in journals.values() for entry in journal.entries}
    return sorted(
        entry.path
        for path, entry in places.items()
        if _real(path) not in own and path.is_file() and digest(_read(path)) == entry.converted
    )


def _in_journals(paths: Sequence[str]) -> list[_Stored]:
    stored: list[_Stored] = []
    for text in paths or ["."]:
        path = Path(text)
        if path.is_dir():
            # Without a path, the journal may also be above the working directory, in the root of the project.
            journal = next(journals_above(path), None)
            inside = [] if journal is None else _all_of(journal)
            members = [item for item in inside if not paths or _below(item.path, path)]
            if not members:
                raise MigrateError(f"{text}: no conversion is stored here; give the files that were converted in place")
            stored += members
        else:
            stored.append(_of_file(path))
    return list({_real(item.path): item for item in stored}.values())


def _below(path: Path, directory: Path) -> bool:
    return _real(path).is_relative_to(_real(directory))


def _all_of(journal: Journal) -> list[_Stored]:
    """Return all edits of a journal; raises MigrateError for one that nobody gets without naming the file."""
    for entry in journal.entries:
        if not is_walked(journal.root, journal.path_of(entry)):
            raise MigrateError(
                f"{journal.root / PLACE}: names `{entry.path}`, which is hidden or belongs to a virtual "
                "environment; name the files to revert, or remove the entry"
            )
    return _of_journal(journal)


def _of_journal(journal: Journal) -> list[_Stored]:
    stored: dict[str, _Stored] = {}
    for entry in journal.entries:
        path = Path(os.path.relpath(journal.path_of(entry)))
        stored.setdefault(entry.path, _Stored(path, journal)).entries.append(entry)
    return list(stored.values())


def _of_file(path: Path) -> _Stored:
    for journal in journals_above(_real(path).parent):
        for item in _of_journal(journal):
            if _real(item.path) == _real(path):
                return item
    raise MigrateError(f"{_name(path)}: no conversion of this file is stored; give one that was converted in place")


def _reverted(stored: _Stored, merge: bool) -> Reverted:
    """Undo the conversions of one file, latest first, until one no longer matches the file."""
    now = data = _read(stored.path)
    left, used = list(stored.entries), list[Entry]()
    while left:
        entry = left[-1]
        if digest(data) != entry.original:
            known = entry.converted == digest(data)
            if used and not known:
                break
            data = _undone(stored.path, data, entry, known=known, merge=merge)
        used.append(left.pop())
    return Reverted(stored.path, now, data, tuple(used), stored.journal, len(left))


def _undone(path: Path, data: bytes, entry: Entry, *, known: bool, merge: bool) -> bytes:
    remedy = "undo your changes first, or give --merge to undo only the converted lines"
    try:
        if known:
            before = _apply(data, entry, merge=False)
            if digest(before) == entry.original:
                return before
        if merge:
            return _merged(path, data, entry)
    except RegionChanged as region:
        if merge:
            line = next((text.strip() for text in str(region).splitlines() if text.strip()), "")
            problem = f"converted lines were changed since (`{line[:60]}`)"
            raise MigrateError(f"{_name(path)}: {problem}; undo it by hand or from version control") from None
    raise MigrateError(f"{_name(path)}: was changed since it was converted; {remedy}")


def _merged(path: Path, data: bytes, entry: Entry) -> bytes:
    before = _apply(data, entry, merge=True)
    if path.suffix == ".py" and _parses(data) and not _parses(before):
        raise MigrateError(f"{_name(path)}: without the converted lines it would not be valid Python; undo it by hand")
    return before


def _apply(data: bytes, entry: Entry, *, merge: bool) -> bytes:
    return bytes_of(undo(text_of(data), entry.diff, merge=merge))


def _parses(data: bytes) -> bool:
    try:
        ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _real(path: Path) -> Path:
    """Return where links lead; `Path.resolve` raises for a link to itself before Python 3.13."""
    return Path(os.path.realpath(path))


def _read(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        remedy = "restore it, or give only the other files"
        raise MigrateError(f"{_name(path)}: cannot be read ({error.strerror}); {remedy}") from error


def _name(path: Path) -> str:
    return printable(str(path))


class RegionChanged(Exception):
    """Text that the conversion wrote was changed or is missing."""


@dataclass(frozen=True)
class _Hunk:
    start: int  #: line of the converted text, from 0
    new: list[str]
    old: list[str]

    def core(self) -> _Hunk:
        """Return the hunk without its context lines."""
        shorter = min(len(self.new), len(self.old))
        first = next((n for n in range(shorter) if self.new[n] != self.old[n]), shorter)
        most = shorter - first
        last = next((n for n in range(most) if self.new[-1 - n] != self.old[-1 - n]), most)
        ends = len(self.new) - last, len(self.old) - last
        return _Hunk(self.start + first, self.new[first : ends[0]], self.old[first : ends[1]])


def undo(text: str, diff: str, *, merge: bool = False) -> str:
    """Return the text before the conversion; with `merge`, later changes elsewhere in the text are kept.

    Raises RegionChanged if text that the conversion wrote was changed since.
    """
    lines, result, position = lines_of(text), list[str](), 0
    for hunk in _hunks(lines_of(diff)):
        placed = _find(lines, hunk, position) if merge else hunk
        if (
            placed is None
            or lines[placed.start : placed.start + len(placed.new)] != placed.new
            or placed.start < position
        ):
            raise RegionChanged("".join(hunk.core().new or hunk.new))
        result += [*lines[position : placed.start], *placed.old]
        position = placed.start + len(placed.new)
    return "".join([*result, *lines[position:]])


def _find(lines: Sequence[str], hunk: _Hunk, position: int) -> _Hunk | None:
    """Return the hunk at the only position where it matches, with its context lines or else without them."""
    for wanted in (hunk, hunk.core()):
        size = len(wanted.new)
        places = [n for n in range(position, len(lines) - size + 1) if list(lines[n : n + size]) == wanted.new]
        if size and len(places) == 1:
            return _Hunk(places[0], wanted.new, wanted.old)
    return None


def _hunks(lines: list[str]) -> Iterator[_Hunk]:
    position = 2  # after the two header lines
    while position < len(lines):
        match = _RANGE.match(lines[position])
        if match is None:
            raise RegionChanged(lines[position])
        olds, news = int(match[1] or 1), int(match[3] or 1)
        hunk = _Hunk(int(match[2]) - (1 if news else 0), [], [])
        position += 1
        while position < len(lines) and (len(hunk.old) < olds or len(hunk.new) < news):
            position += _add(hunk, lines, position)
        yield hunk


def _add(hunk: _Hunk, lines: list[str], position: int) -> int:
    """Add a line of a diff to the hunk; return how many lines of the diff were consumed."""
    mark, text = lines[position][0], lines[position][1:]
    unended = lines[position + 1 : position + 2] == ["\\ No newline at end of file\n"]
    if unended:
        text = text.removesuffix("\n")
    if mark in " -":
        hunk.old.append(text)
    if mark in " +":
        hunk.new.append(text)
    return 2 if unended else 1
