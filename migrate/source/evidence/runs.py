"""Matches the files that a record names to those of the conversion, and refuses a record of another text."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from migrate.errors import MigrateError
from migrate.regular_files import read_regular
from migrate.source.files.encoding import source_bytes
from migrate.trace.record import Record, load_record


@dataclass(frozen=True)
class Evidence:
    """One record, and where the files that it names are in the conversion."""

    place: str  #: the file of the record, as it was given
    digest: str  #: of that file; two options with different evidence are not equal
    names: tuple[tuple[str, str], ...]  #: (path in findings, path in the record)
    record: Record = field(compare=False, repr=False)

    @property
    def completed(self) -> bool:
        """True if the program came to its end or its last step; one that failed may not have built all of a graph."""
        return self.record.ended == "by itself" or self.record.ended.startswith("after ")

    @property
    def entry(self) -> str:
        """The file, as it is shown, that the program started with; empty if it is none of the conversion's."""
        return next((path for path, name in self.names if name == self.record.entry), "")

    def recorded(self, path: str) -> str:
        """Return the record's path of a file; empty if it does not name the file."""
        return dict(self.names).get(path, "")


def read_evidence(records: Sequence[str], files: Mapping[str, Path]) -> tuple[Evidence, ...]:
    """Return the records, matched to the files of the conversion, which are given by their paths in findings.

    Raises MigrateError for a file that is no record, lacks something by a fault of the tracer, names none of the files,
    or ran another text of one.
    """
    return tuple(_matched(record, files) for record in records)


def _matched(place: str, files: Mapping[str, Path]) -> Evidence:
    path = Path(place)
    record = load_record(path)
    if record.faults:
        raise MigrateError(
            f"{place}: `migrate trace` failed in that run ({record.faults[0]}), so the record may lack graphs; "
            "report this as a bug, and convert without --evidence"
        )
    resolved = {shown: file.resolve() for shown, file in files.items()}
    root = _root(record, resolved)
    if root is None:
        some = ", ".join(sorted(record.files)[:3]) or "none"
        raise MigrateError(
            f"{place}: the files of the recorded run ({some}) are not among the given files; give the "
            "directory that `migrate trace` ran in"
        )
    names = {shown: file.relative_to(root).as_posix() for shown, file in resolved.items() if file.is_relative_to(root)}
    names = {shown: name for shown, name in names.items() if name in record.files}
    for shown, name in sorted(names.items()):
        if _digest(source_bytes(files[shown])) != record.files[name]:
            raise MigrateError(f"{place}: {shown} was changed since the run; run `migrate trace` again")
    return Evidence(place, _digest(read_regular(path)), tuple(sorted(names.items())), record)


def _root(record: Record, resolved: Mapping[str, Path]) -> Path | None:
    """Return the directory below which most files of the record lie, those of equal text counting first."""
    roots: Counter[Path] = Counter()
    for name, digest in record.files.items():
        parts = PurePosixPath(name).parts
        for file in resolved.values():
            if file.parts[-len(parts) :] == parts and len(file.parts) > len(parts):
                same = _digest(source_bytes(file)) == digest
                roots[Path(*file.parts[: -len(parts)])] += len(record.files) + 1 if same else 1
    return max(roots, key=lambda root: (roots[root], str(root)), default=None)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
