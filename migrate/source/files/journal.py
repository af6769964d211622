"""Stored edits: `.migrate/edits.json` beside a project or in an output directory, and how they are undone.

An entry holds the digests of a file before and after its conversion and the unified diff between the two. Paths are
relative to the directory that holds `.migrate`, so that it may be moved, copied or committed together with the files.
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
from migrate.source.files.atomic_write import unified_diff, write_atomically
from migrate.source.files.path_lookup import exists, is_file

PLACE = Path(".migrate", "edits.json")
FORMAT = "recmigrate-edits/1"
#: What marks the root of a project.
ROOTS = (".migrate", ".git", "pyproject.toml", "setup.cfg")


@dataclass(frozen=True)
class Entry:
    """One conversion of one file."""

    path: str  #: POSIX, relative to the directory that holds `.migrate`
    original: str  #: sha256 of the bytes before
    converted: str  #: sha256 of the bytes after; empty when not known
    diff: str  #: from the original to the converted text


def digest(data: bytes) -> str:
    """Return the sha256 of a file's bytes."""
    return hashlib.sha256(data).hexdigest()


def text_of(data: bytes) -> str:
    """Return bytes as text of which `bytes_of` gives the same bytes, whatever they are."""
    return data.decode("utf-8", errors="surrogateescape")


def bytes_of(text: str) -> bytes:
    """Return the bytes of `text_of`."""
    return text.encode("utf-8", errors="surrogateescape")


class Journal:
    """The stored edits below one directory, oldest first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.entries = _read(root / PLACE)

    def record(self, files: Iterable[tuple[Path, bytes, bytes]]) -> None:
        """Add the conversion of files, each with its bytes before and after, and write the journal."""
        for path, before, after in files:
            name = Path(os.path.relpath(path.resolve(), self.root.resolve())).as_posix()
            # A file that is as it was before a conversion has nothing of it left to undo.
            self.entries = [e for e in self.entries if e.path != name or e.original != digest(before)]
            diff = unified_diff(name, text_of(before), text_of(after))
            self.entries.append(Entry(name, digest(before), digest(after), diff))
        self.write()

    def write(self) -> None:
        """Write the journal, or remove it when nothing is left to undo."""
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
    """Store the edits of files that are about to be rewritten, each in the journal of its project."""
    homes: dict[Path, list[tuple[Path, bytes, bytes]]] = {}
    for file in files:
        homes.setdefault(home_of(file[0]), []).append(file)
    for home, members in homes.items():
        Journal(home).record(members)


def home_of(path: Path) -> Path:
    """Return the directory whose journal a file belongs to: the nearest root of a project above it.

    Without one, it is the working directory for a file below it, else the file's own directory.
    """
    above = list(path.resolve().parents)
    for directory in above:
        if any(exists(directory / name) for name in ROOTS):
            return directory
    here = Path.cwd().resolve()
    return here if here in above else above[0]


def journals_above(path: Path) -> Iterator[Journal]:
    """Yield the journals at and above a directory, the nearest first."""
    for directory in (path.resolve(), *path.resolve().parents):
        if is_file(directory / PLACE):
            yield Journal(directory)


def _read(place: Path) -> list[Entry]:
    if not place.exists():
        return []
    try:
        data = json.loads(place.read_text(encoding="ascii"))
        if data["format"] != FORMAT:
            problem = f"its format is {data['format']!r}, not {FORMAT!r}"
            raise MigrateError(f"{place}: {problem}; use the version that wrote it")
        return [Entry(str(e["path"]), str(e["original"]), str(e["converted"]), str(e["diff"])) for e in data["edits"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MigrateError(f"{place}: the stored edits cannot be read ({error}); restore or remove the file") from error
