"""Finds the programs that a user names, the entry points of a project, and what they reach."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass

from migrate.errors import MigrateError
from migrate.source.project.import_graph import Project


@dataclass(frozen=True)
class Pattern:
    """A pattern of entry points as it was written."""

    text: str
    base: str = ""  #: the directory of the configuration that has it; empty for one of the command line

    def files(self) -> frozenset[str]:
        """Return the real paths of the existing files that the pattern names; `**` stands for any directories."""
        paths = glob.glob(os.path.join(self.base, self.text), recursive=True)  # noqa: PTH118, PTH207 - may be absolute
        return frozenset(map(os.path.realpath, paths))


def entries_of(project: Project, patterns: Sequence[Pattern]) -> tuple[str, ...]:
    """Return the files that the patterns name, in their order; raises MigrateError for a pattern without a file.

    A configuration also holds where single files are given, as editors do: then its other entry points do not count.
    """
    real = {path: os.path.realpath(file) for path, file in project.files.items()}
    entries: dict[str, None] = {}
    for pattern in patterns:
        named = pattern.files()
        paths = [path for path, file in real.items() if file in named]
        if not paths and not (named and pattern.base):
            what = "is not among the files of this run" if named else "names no file"
            raise MigrateError(
                f"entry point {pattern.text}: {what}; give a file or a pattern below the given paths, relative to "
                f"{pattern.base or 'the working directory'}"
            )
        entries.update(dict.fromkeys(paths))
    return tuple(entries)


def reached(project: Project, entries: Sequence[str]) -> frozenset[str]:
    """Return the entry points and the files that they import, directly or indirectly, with their packages."""
    started = {one for path in entries for one in (path, *project.modules.above(path))}
    return frozenset[str]().union(*map(project.closure, started))
