"""Files that lie on the disk and are imported, but were not given: what they do is read, so that it can be named."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from migrate.source.files.encoding import decode
from migrate.source.files.path_lookup import is_file
from migrate.source.project.import_graph import Project
from migrate.source.project.module_resolution import Imported, imports_of

#: No more files than these are read for one that was given.
MOST = 200


def outside(project: Project, path: str) -> dict[str, str]:
    """Return the texts of files that are not of the job and that `path` imports, directly or not, by their places.

    Only a file that was named is asked about: a directory was given with all that belongs to it.
    """
    if path not in project.named:
        return {}
    start = project.files[path].absolute()
    given = {place.absolute() for place in project.files.values()}
    pending = [(project.files[one].absolute(), project.text(one)) for one in sorted(project.closure(path))]
    found: dict[Path, str] = {}
    while pending and len(found) < MOST:
        place, text = pending.pop()
        for file in (file for imported in imports_of(text) for file in _files(place, imported)):
            if file not in given and file not in found:
                found[file] = _read(file)
                pending.append((file, found[file]))
    return {os.path.relpath(file, start.parent): text for file, text in sorted(found.items())}


def _files(importer: Path, imported: Imported) -> Iterator[Path]:
    """Yield the files on the disk that an import may mean: the module, and the name in it where that is a module."""
    parts = [part for part in imported.module.split(".") if part]
    if not imported.level and (not parts or parts[0] in sys.stdlib_module_names or parts[0] == "tensorflow"):
        return
    for base in _bases(importer, imported.level):
        for names in (parts, [*parts, imported.name]):
            whole = base.joinpath(*names)
            for file in (whole.with_name(f"{whole.name}.py"), whole / "__init__.py"):
                if names and is_file(file):
                    yield file


def _bases(importer: Path, level: int) -> Iterator[Path]:
    """Yield the directories in which an import begins: those of the script and of the package that holds it."""
    if level:
        yield importer.parents[min(level, len(importer.parents)) - 1]
        return
    yield importer.parent
    top = importer.parent
    while is_file(top / "__init__.py") and top != top.parent:
        top = top.parent
    if top != importer.parent:
        yield top


def _read(file: Path) -> str:
    try:
        return decode(file.read_bytes()).text
    except (OSError, SyntaxError, UnicodeDecodeError, LookupError):
        return ""
