"""Reads imported files that exist but are not part of the run, so that findings can name what they do."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from migrate.source.files.encoding import read_source
from migrate.source.files.path_lookup import is_file
from migrate.source.project.import_graph import Project
from migrate.source.project.module_resolution import Imported, imports_of

#: Maximal number of files that are read for one file of the run.
MOST = 200


def outside(project: Project, path: str) -> dict[str, str]:
    """Return path -> text of files outside of the run that `path` imports, directly or indirectly.

    Only a file that was named is asked about: a directory was given with all that belongs to it.
    """
    if path not in project.named:
        return {}
    start = project.files[path].absolute()
    own = {importer.absolute() for importer in project.files.values()}
    pending = [(project.files[one].absolute(), project.text(one)) for one in sorted(project.closure(path))]
    texts: dict[Path, str] = {}
    while pending and len(texts) < MOST:
        importer, text = pending.pop()
        for file in (file for imported in imports_of(text) for file in _files(importer, imported)):
            if file not in own and file not in texts:
                texts[file] = _read(file)
                pending.append((file, texts[file]))
    return {os.path.relpath(file, start.parent): text for file, text in sorted(texts.items())}


def _files(importer: Path, imported: Imported) -> Iterator[Path]:
    """Yield the existing files that an import may refer to: the module, and the name in it if that is a module."""
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
    """Yield the directories that an import searches: of the script, and above its package."""
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
        return read_source(file)
    except (OSError, SyntaxError, UnicodeDecodeError, LookupError):
        return ""
