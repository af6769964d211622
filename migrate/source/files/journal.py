"""Stored edits for `migrate revert`: `.migrate/edits.json` in the root of a project or in an output directory.

An entry holds the digests of a file before and after its conversion, and the unified diff. Paths are relative to the
directory with `.migrate`, so that it can be moved, copied or committed together with the files.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from migrate.errors import MigrateError
from migrate.regular_files import read_regular_text
from migrate.source.files.atomic_write import unified_diff, write_atomically
from migrate.source.files.path_lookup import exists, is_file
from migrate.source.files.staying_inside import check_inside, named_inside

PLACE = Path(".migrate", "edits.json")
FORMAT = "recmigrate-edits/1"
#: Names whose presence marks the root of a project.
ROOTS = (".migrate", ".git", "pyproject.toml", "setup.cfg")


@dataclass(frozen=True)
class Entry:
    """One conversion of one file."""

    path: str  #: POSIX, relative to the directory that contains `.migrate`
    original: str  #: sha256 of the original bytes
    converted: str  #: sha256 of the converted bytes
    diff: str  #: from the original to the converted text


def digest(data: bytes) -> str:
    """Return the sha256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def text_of(data: bytes) -> str:
    """Decode arbitrary bytes so that `bytes_of` returns the same bytes."""
    return data.decode("utf-8", errors="surrogateescape")


def bytes_of(text: str) -> bytes:
    """Encode a text that `text_of` decoded."""
    return text.encode("utf-8", errors="surrogateescape")


class Journal:
    """The stored edits below one directory, oldest first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        check_inside(root, root / PLACE)
        self.entries = _read(root / PLACE)

    def record(self, files: Iterable[tuple[Path, bytes, bytes]]) -> None:
        """Add conversions, given as (path, original bytes, converted bytes), and write the journal."""
        for path, before, after in files:
            name = Path(os.path.relpath(path.resolve(), self.root.resolve())).as_posix()
            # Entries whose original equals the current file have already been undone.
            self.entries = [e for e in self.entries if e.path != name or e.original != digest(before)]
            diff = unified_diff(name, text_of(before), text_of(after))
            self.entries.append(Entry(name, digest(before), digest(after), diff))
        self.write()

    def path_of(self, entry: Entry) -> Path:
        """Return the path of the file of an entry; raises MigrateError for one outside of the journal's folder."""
        return named_inside(self.root, entry.path, str(self.root / PLACE))

    def write(self) -> None:
        """Write the journal, or delete it if it has no entries."""
        place = self.root / PLACE
        if self.entries:
            kept = [dataclasses.asdict(entry) for entry in self.entries]
            text = json.dumps({"format": FORMAT, "edits": kept}, indent=1) + "\n"
            write_atomically(place, text.encode("ascii"))
        elif place.exists():
            place.unlink()
            if not any(place.parent.iterdir()):
                place.parent.rmdir()


def record_in_place(files: Iterable[tuple[Path, bytes, bytes]]) -> None:
    """Store the edits of files that are about to be overwritten, each in the journal of its project."""
    homes: dict[Path, list[tuple[Path, bytes, bytes]]] = {}
    for file in files:
        homes.setdefault(home_of(file[0]), []).append(file)
    for home, members in homes.items():
        Journal(home).record(members)


def home_of(path: Path) -> Path:
    """Return the directory whose journal a file belongs to: the nearest root of a project above it.

    Without a root, this is the working directory for a file below it, else the file's directory.
    """
    above = list(path.resolve().parents)
    for directory in above:
        if any(exists(directory / name) for name in ROOTS) and not _is_everyones(directory):
            return directory
    here = Path.cwd().resolve()
    return here if here in above else above[0]


def journals_above(path: Path) -> Iterator[Journal]:
    """Yield the journals in a directory and its parents, nearest first."""
    for directory in (path.resolve(), *path.resolve().parents):
        if is_file(directory / PLACE) and not (directory != path.resolve() and _is_everyones(directory)):
            yield Journal(directory)


def _is_everyones(directory: Path) -> bool:
    """True for a folder as `/tmp`, where any user may put a journal: it is nobody's project."""
    return directory.stat().st_mode & 0o1002 == 0o1002


def _read(place: Path) -> list[Entry]:
    if not place.exists():
        return []
    try:
        data = json.loads(read_regular_text(place, "ascii"))
        if data["format"] != FORMAT:
            problem = f"the format is {data['format']!r}, not {FORMAT!r}"
            raise MigrateError(f"{place}: {problem}; use the version of recmigrate that wrote it")
        return [Entry(str(e["path"]), str(e["original"]), str(e["converted"]), str(e["diff"])) for e in data["edits"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise MigrateError(f"{place}: the stored edits cannot be read ({error}); restore or remove the file") from error
