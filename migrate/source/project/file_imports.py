"""Resolves the imports of one file in its project, and reads those of files that exist but are not part of the run."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Container, Iterator
from pathlib import Path

from migrate.source.files.encoding import read_source
from migrate.source.files.path_lookup import is_file
from migrate.source.project.analysis_units import programs_of
from migrate.source.project.import_graph import Project
from migrate.source.project.module_resolution import Imported, imports_of, is_library
from migrate.source.syntax.blocks import parsed


class FileLink:
    """Resolves the imports of one file in its project."""

    def __init__(self, project: Project, path: str) -> None:
        """Take the project and the file."""
        self._project = project
        self._path = path
        self._outside: dict[str, frozenset[str]] = {}
        self._not_given: dict[str, str] | None = None

    def outside(self, qualified: str) -> frozenset[str]:
        """Return the names that `qualified` may have outside of the project; itself if the project defines it."""
        if qualified not in self._outside:
            origins = self._project.origins(self._path, qualified) or {None}
            names = (one.name if one is not None and not one.path else qualified for one in origins)
            self._outside[qualified] = frozenset(names)
        return self._outside[qualified]

    def defines(self, qualified: str) -> bool:
        """True for a name that a file of the project defines."""
        return any(one is not None and bool(one.path) for one in self._project.origins(self._path, qualified))

    def starred(self, name: str, statement: str | None = None) -> str:
        """Return the qualified name of a name that a star import of a project file binds, else an empty string.

        With `statement`, only this star import is asked.
        """
        for imported in self._project.imports(self._path) if statement is None else imports_of(statement):
            if imported.name == "*":
                module = self._project.modules.find(self._path, imported.module, imported.level)
                if module is not None and name in self._project.public(module):
                    return "." * imported.level + ".".join(filter(None, [imported.module, name]))
        return ""

    def may_rebind(self, statement: str) -> bool:
        """True if a star import may bind any name: its module is neither in the project nor of a known library."""
        for imported in imports_of(statement):
            module = self._project.modules.find(self._path, imported.module, imported.level)
            outside = self._project.open_stars(module) if module is not None else [imported.module]
            if (module is None and imported.level) or not all(map(is_library, outside)):
                return True
        return False

    def is_first(self, words: re.Pattern[str]) -> bool:
        """True unless a file that imports this one, directly or indirectly, has a text with these words as well.

        Of files that import each other, the first by name is first.
        """
        others, below = programs_of(self._project).entries(self._path), self._project.closure(self._path)
        above = {one for one in others if one < self._path or one not in below} - {self._path}
        return not any(self._project.holds(one, words) for one in above)

    def started(self) -> str:
        """Return the only program that runs this file, which no file imports; where there are more, the file itself."""
        entries = programs_of(self._project).entries(self._path)
        imported = {other for one in entries for other in self._project.edges(one) if other != one}
        first = [*(entries - imported)]
        return first[0] if len(first) == 1 else self._path

    def hides(self, statement: str) -> bool:
        """True if a star import may bind names that files of the project do not define.

        A module of the project shows them, unless it takes names from outside by a star itself.
        """
        for imported in imports_of(statement):
            module = self._project.modules.find(self._path, imported.module, imported.level)
            if module is None or self._project.open_stars(module):
                return True
        return False

    def below(self, module: str, path: str) -> str | None:
        """Return the dotted name of the file at `path` relative to `module`, as this file imports it.

        Nothing where it is that file, `factory` for a file of the package, None where the name does not lead there.
        """
        name = module.lstrip(".")
        file = self._project.modules.find(self._path, name, len(module) - len(name))
        return self._project.modules.below(file, path) if file is not None else None

    def crowded(self) -> bool:
        """True if the files of its programs are too large to be analysed together."""
        return programs_of(self._project).is_crowded(self._path)

    def opened(self) -> tuple[str, ...]:
        """Return the files of the project with a dynamic import that may be of any module."""
        return programs_of(self._project).opened(self._path)

    def imports(self, path: str) -> bool:
        """True if this file imports that one, directly or indirectly."""
        return path in self._project.closure(self._path)

    def loads(self, paths: Container[str]) -> bool:
        """True if importing this file imports one of these; functions may import others later."""
        seen, pending = {self._path}, [self._path]
        while pending:
            path = pending.pop()
            text = "\n".join(map(ast.unparse, _at_the_top(self._project.text(path))))
            files = self._project.imported_files(path, imports_of(text), ()) - seen
            if any(one in paths for one in files):
                return True
            seen |= files
            pending += files
        return False

    def programs(self) -> frozenset[str]:
        """Return the texts of the files that a program may run with this one, its own among them."""
        files = {
            one for entry in programs_of(self._project).entries(self._path) for one in self._project.closure(entry)
        }
        return frozenset(self._project.text(one) for one in files)

    def not_given(self) -> dict[str, str]:
        """Return path -> text of the files that this one imports and that are not in the project."""
        if self._not_given is None:
            self._not_given = outside(self._project, self._path)
        return self._not_given


def _at_the_top(text: str) -> Iterator[ast.stmt]:
    """Yield the imports of a text that run where it is imported; none if it cannot be parsed."""
    pending: list[ast.AST] = [parsed(text)]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            pending += ast.iter_child_nodes(node)


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
