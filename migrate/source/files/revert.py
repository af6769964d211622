"""Undoes conversions with their stored edits, for all requested files or for none."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from migrate.errors import MigrateError
from migrate.regular_files import read_regular
from migrate.source.files.atomic_write import check_writable, write_atomically
from migrate.source.files.encoding import decode
from migrate.source.files.journal import PLACE, Entry, Journal, bytes_of, digest, journals_above, text_of
from migrate.source.files.patch_inverse import RegionChanged, undo
from migrate.source.files.path_lookup import printable
from migrate.source.files.staying_inside import is_walked, named_inside


@dataclass(frozen=True)
class Reverted:
    """One file: its current bytes, its original bytes, and the stored edits between the two."""

    path: Path
    now: bytes
    before: bytes
    used: tuple[Entry, ...]
    journal: Journal | None  #: the journal with the edits; None if they come from a report
    remaining: int = 0  #: number of earlier conversions that cannot be undone because of later changes

    @property
    def changed(self) -> bool:
        """False for a file that already has its original contents."""
        return self.now != self.before


@dataclass
class _Stored:
    """The conversions of one file, oldest first."""

    path: Path
    journal: Journal | None
    entries: list[Entry] = field(default_factory=list)


def plan(paths: Sequence[str], source: str | None, *, merge: bool) -> list[Reverted]:
    """Return what reverting would do; nothing is written.

    Args:
        paths: files and directories; empty for all files of the nearest journal at or above the working directory.
        source: a JSON report or a directory with a journal, if the edits are not stored beside the files.
        merge: keep later changes of a file and undo only the converted lines.

    Raises:
        MigrateError: a file has no stored edits, or was changed since.
    """
    stored = _in_report(source, paths) if source and Path(source).is_file() else _in_journals(paths, source)
    return [_reverted(item, merge) for item in stored]


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
    journals = {id(item.journal): item.journal for item in plan if item.journal is not None}
    for journal in journals.values():
        used = {id(entry) for item in plan for entry in item.used}
        journal.entries = [entry for entry in journal.entries if id(entry) not in used]
        journal.write()


def still_converted(done: Sequence[Reverted]) -> list[str]:
    """Return further files of the same journals that are still converted."""
    journals = {id(item.journal): item.journal for item in done if item.journal is not None}
    own = {_real(item.path) for item in done}
    places = {journal.path_of(entry): entry for journal in journals.values() for entry in journal.entries}
    return sorted(
        entry.path
        for path, entry in places.items()
        if _real(path) not in own and path.is_file() and digest(_read(path)) == entry.converted
    )


def _in_journals(paths: Sequence[str], source: str | None) -> list[_Stored]:
    if source is not None:
        journal = Journal(Path(source))
        if not journal.entries:
            raise MigrateError(f"{source}: contains no stored edits ({PLACE}); give a report or an output directory")
        return _copies(journal, paths) if paths else _all_of(journal)
    found: list[_Stored] = []
    for text in paths or ["."]:
        path = Path(text)
        if path.is_dir():
            # Without a path, the journal may also be above the working directory, in the root of the project.
            journal_ = next(journals_above(path), None)
            inside = [] if journal_ is None else _all_of(journal_)
            members = [item for item in inside if not paths or _below(item.path, path)]
            if not members:
                raise MigrateError(f"{text}: no conversion is stored here; give files, or --from REPORT or DIR")
            found += members
        else:
            found.append(_of_file(path))
    return list({_real(item.path): item for item in found}.values())


def _below(path: Path, directory: Path) -> bool:
    return _real(path).is_relative_to(_real(directory))


def _all_of(journal: Journal) -> list[_Stored]:
    """Return all edits of a journal; raises MigrateError for one that nobody gets without naming the file."""
    for entry in journal.entries:
        if not is_walked(journal.root, journal.path_of(entry)):
            raise MigrateError(
                f"{journal.root / PLACE}: names `{entry.path}`, which is hidden or of an environment; name the files "
                "to revert, or remove the entry"
            )
    return _of_journal(journal)


def _of_journal(journal: Journal) -> list[_Stored]:
    found: dict[str, _Stored] = {}
    for entry in journal.entries:
        path = Path(os.path.relpath(journal.path_of(entry)))
        found.setdefault(entry.path, _Stored(path, journal)).entries.append(entry)
    return list(found.values())


def _of_file(path: Path) -> _Stored:
    for journal in journals_above(_real(path).parent):
        for item in _of_journal(journal):
            if _real(item.path) == _real(path):
                return item
    raise MigrateError(
        f"{printable(str(path))}: no conversion of this file is stored; give --from with its report or output directory"
    )


def _copies(journal: Journal, paths: Sequence[str]) -> list[_Stored]:
    found = []
    for text in paths:
        for path in _files(text):
            try:
                found.append(_elsewhere(journal, path))
            except MigrateError:
                if not Path(text).is_dir():
                    raise
    if not found:
        raise MigrateError(f"{', '.join(paths)}: {journal.root} stores no conversion of a file here; give other paths")
    return found


def _elsewhere(journal: Journal, path: Path) -> _Stored:
    """Return the edits for a copy of a file of the journal, matched by contents or else by path."""
    now = digest(_read(path))
    groups = _of_journal(journal)
    same = [item for item in groups if item.entries[-1].converted == now]
    named = [item for item in groups if _real(path).as_posix().endswith("/" + item.entries[-1].path)]
    for choice in (same, named):
        if len(choice) == 1:
            return _Stored(path, None, choice[0].entries)
    problem = "several files there have the same contents" if same else "no conversion of this file is stored there"
    raise MigrateError(f"{_name(path)}: {problem} ({journal.root}); give another --from")


def _files(text: str) -> list[Path]:
    """Return a file, or the Python files and notebooks below a directory."""
    path = Path(text)
    if not path.is_dir():
        return [path]
    real = _real(path)
    files = (file for file in path.rglob("*") if file.suffix in {".py", ".ipynb"})
    return sorted(file for file in files if Path(os.path.realpath(file)).is_relative_to(real))


def _in_report(source: str, paths: Sequence[str]) -> list[_Stored]:
    from migrate.report.serialize import read_report

    found = {
        os.path.realpath(file.path): _Stored(Path(file.path), None, [Entry(file.path, file.sha256, "", file.diff)])
        for file in read_report(source).inputs
        if file.diff
    }
    if not paths:
        here = Path.cwd()
        for item in found.values():
            named_inside(here, _below_here(item.path, here), source)
        return list(found.values())
    files = [path for text in paths for path in _files(text)]
    wanted = [found[place] for path in files if (place := os.path.realpath(path)) in found]
    if not wanted or any(not Path(text).is_dir() and os.path.realpath(text) not in found for text in paths):
        raise MigrateError(f"{', '.join(paths)}: {source} contains no conversion of this file; give another report")
    return wanted


def _below_here(path: Path, here: Path) -> str:
    """Return a path of a report as its name below the working directory, if it is below that."""
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def _reverted(stored: _Stored, merge: bool) -> Reverted:
    """Undo the conversions of one file, latest first, until one no longer matches the file."""
    now = data = _read(stored.path)
    left, used = list(stored.entries), list[Entry]()
    while left:
        entry = left[-1]
        if digest(data) != entry.original:
            known = entry.converted in {"", digest(data)}
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
        raise MigrateError(
            f"{printable(str(path))}: without the converted lines it would not be valid Python; undo it by hand"
        )
    return before


def _apply(data: bytes, entry: Entry, *, merge: bool) -> bytes:
    if entry.converted:
        return bytes_of(undo(text_of(data), entry.diff, merge=merge))
    # The diff in a report is of the decoded text without byte-order mark.
    source = decode(data)
    return source.encode(undo(source.text, entry.diff, merge=merge))


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
