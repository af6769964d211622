"""Resolves imports to files of a run, and finds what a module binds, without executing it.

Imports are found by patterns in the text.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from migrate.source.files.path_lookup import is_file
from migrate.source.syntax.blocks import parsed, statements

WORD = re.compile(r"import\b")
#: Text before `import`: the start of a line, a `;` or the `:` of `if x:`, and `from` with a module.
HEAD = re.compile(r"(?:^|[\r;:])[ \t\f\ufeff]*(from\b(?:[ \t\f.\w]|\\\r?\n)+)?\Z")
#: `import` with names in parentheses, which may contain comments, or the rest of the statement.
TAIL = re.compile(
    r"import(?:[ \t\f]|\\\r?\n)*(?:\((?:[^()#]|#[^\r\n]*)*\)|(?:[^\r\n\\;#]|\\\r?\n)+)",
)
COMMENT = re.compile(r"#[^\r\n]*")

#: Installed packages, which a file of the same name replaces only if Python searches its directory first.
FOREIGN = re.compile(r"(tensorflow|tf_|keras|torch|paddle)\w*|numpy|scipy|pandas|sklearn|horovod|six|absl|google")


def is_library(dotted: str) -> bool:
    """True for a dotted name of Python's library, or of a package that is surely installed."""
    first = dotted.partition(".")[0]
    return first in sys.stdlib_module_names or FOREIGN.fullmatch(first) is not None


@dataclass(frozen=True)
class Imported:
    """One name that an import statement binds."""

    module: str  #: as written, without leading dots
    level: int  #: number of leading dots
    name: str  #: the symbol, `*`, or empty for `import module`
    bound: str  #: the bound name; for `import a.b` without `as`, the whole `a.b`


def imports_of(text: str) -> Iterator[Imported]:
    """Yield the names that import statements of `text` bind, at any depth, including matches in strings."""
    for word in WORD.finditer(text):
        head = _head(text, word.start())
        tail = TAIL.match(text, word.start()) if head is not None else None
        if head is None or tail is None:
            continue
        statement = COMMENT.sub("", head + tail.group()).replace("\\", " ")
        yield from _imported(" ".join(statement.split()))


@lru_cache(maxsize=20_000)  # files of a project have many statements in common
def _imported(statement: str) -> tuple[Imported, ...]:
    """Return the names that a statement in one line imports; none if it is not Python."""
    return tuple(one for node in parsed(statement).body for one in imported_by(node))


def _head(text: str, place: int) -> str | None:
    """Return the `from module` before an `import` at `place`, or an empty text; None if no statement starts there."""
    line = start = text.rfind("\n", 0, place) + 1
    while start and text[max(0, start - 3) : start].rstrip("\r\n").endswith("\\"):
        start = text.rfind("\n", 0, start - 1) + 1
    # A backslash at the end of a comment does not continue the line.
    head = HEAD.search(text[start:place]) or HEAD.search(text[line:place])
    return (head.group(1) or "") if head is not None else None


def imported_by(node: ast.stmt) -> Iterator[Imported]:
    """Yield the names that one statement imports."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Imported(alias.name, 0, "", alias.asname or alias.name)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield Imported(node.module or "", node.level, alias.name, alias.asname or alias.name)


class Modules:
    """The files of a run, by their module names."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        """Take the files, path in reports -> path; their paths determine their module names."""
        self._shown = {path.absolute(): shown for shown, path in files.items()}
        self._paths = {shown: path for path, shown in self._shown.items()}
        holding = {path.parent for path in self._shown}  # fewer than files
        directories = {above for directory in holding for above in (directory, *directory.parents)}
        self._top = {d for d in directories if not is_file(d / "__init__.py")} if len(self._shown) > 1 else set()
        self._heads = {path.stem for path in self._shown} | {part for directory in holding for part in directory.parts}

    def is_package(self, shown: str) -> bool:
        """True for an `__init__.py`."""
        return self._paths[shown].name == "__init__.py"

    def packages(self, file: str, importer: str) -> Iterator[str]:
        """Yield the `__init__.py` files that an import of `file` runs, without those above `importer`."""
        inside = self._paths[importer].parents
        for above in self._paths[file].parents:
            if above in inside:
                return
            if (package := self._shown.get(above / "__init__.py")) is not None:
                yield package

    def above(self, file: str) -> Iterator[str]:
        """Yield the `__init__.py` files of the packages that `file` is in, which `python -m` runs before it."""
        for above in self._paths[file].parents:
            package = self._shown.get(above / "__init__.py")
            if package is None:
                return
            if package != file:
                yield package

    def called(self, name: str) -> Iterator[str]:
        """Yield the files whose path ends with `name`."""
        for path, shown in self._shown.items():
            if path.name == name.rpartition("/")[2]:
                yield shown

    def below(self, module: str, path: str) -> str | None:
        """Return the dotted name of the file `path` relative to `module`; None if it is not below."""
        package, file = self._paths[module], self._paths[path]
        if module == path or not self.is_package(module) or not file.is_relative_to(package.parent):
            return "" if module == path else None
        *above, last = file.relative_to(package.parent).with_suffix("").parts
        return ".".join([*above, *([last] if last != "__init__" else [])])

    def find(self, importer: str, module: str, level: int) -> str | None:
        """Return the file of `module` in `importer`, or None if it is not in the run."""
        parts = [part for part in module.split(".") if part]
        path = self._paths.get(importer)
        if path is None or (parts and parts[0] not in self._heads):
            return None
        if level:
            base = path.parents[level - 1] if level <= len(path.parents) else path.parent
            return self._at(base, parts)
        for base in self._bases(path):
            if parts and (file := self._at(base, parts)) is not None:
                return file
        elsewhere = self.bearing(importer, module)
        return elsewhere[0] if len(elsewhere) == 1 else None

    def bearing(self, importer: str, module: str) -> list[str]:
        """Return the files that may be an absolute `module` that is not found in the directories of `importer`.

        That depends on `sys.path` and `PYTHONPATH`, which only the running program knows.
        """
        parts = module.split(".")
        if not parts[-1] or is_library(module):
            return []
        own = self._paths.get(importer)
        paths = [path for path in self._named.get(parts[-1], ()) if path != own and _dotted(path, len(parts)) == parts]
        return [self._shown[path] for path in paths]

    @cached_property
    def _named(self) -> dict[str, list[Path]]:
        """The files, by the last component of their module names."""
        paths: dict[str, list[Path]] = {}
        for path in self._shown:
            if path.suffix == ".py":  # notebooks cannot be imported
                paths.setdefault(_dotted(path, 1)[0], []).append(path)
        return paths

    def beginning(self, importer: str, start: str, level: int) -> Iterator[str]:
        """Yield the files that `importer` may import by a module name with the prefix `start`."""
        path = self._paths[importer]
        *above, last = start.split(".")
        for base in [path.parents[min(level, len(path.parents)) - 1]] if level else self._bases(path):
            inside = base.joinpath(*above)
            for file, shown in self._shown.items():
                if file.is_relative_to(inside) and file.relative_to(inside).parts[0].startswith(last):
                    yield shown

    def _bases(self, path: Path) -> Iterator[Path]:
        """Yield the directories of absolute imports: the script's directory or package root, then its parents.

        Directories above the files of the job cannot hold a module of the job.
        """
        for base in path.parents:
            if base in self._top:
                yield base
        if path.parent not in self._top:
            yield path.parent  # for a module of a package that is run as a script

    def _at(self, base: Path, parts: list[str]) -> str | None:
        if not parts:
            return self._shown.get(base / "__init__.py")
        whole = base.joinpath(*parts)
        return self._shown.get(whole.with_name(whole.name + ".py")) or self._shown.get(whole / "__init__.py")


def _dotted(path: Path, count: int) -> list[str]:
    """Return the last components of a file's module name, by its path."""
    return list((path.parent if path.name == "__init__.py" else path.with_suffix("")).parts[-count:])


@dataclass(frozen=True)
class Alias:
    """A name of a module that is assigned another dotted name, e.g. `tf` in `tf = tensorflow.compat.v1`."""

    dotted: str


#: A binding of a top-level name: an import, an alias, or None for anything else.
Binding = Imported | Alias | None


def bindings(text: str) -> dict[str, list[Binding]]:
    """Return the top-level names of a module, each with its bindings."""
    exports: dict[str, list[Binding]] = {}
    for node in _top_level(parsed(text).body):
        for name, source in _bound(node):
            if source not in exports.setdefault(name, []):
                exports[name].append(source)
    return exports


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that may run when a module is imported, including those in branches."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _top_level(statements(node))


def _bound(node: ast.stmt) -> Iterator[tuple[str, Binding]]:
    """Yield the names that a statement binds; star imports get unique names."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for imported in imported_by(node):
            name = f"*{imported.level}{imported.module}" if imported.name == "*" else imported.bound
            yield name, imported
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name, None
        yield from ((name, None) for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        yield from ((node.targets[0].id, binding) for binding in _values(node.value))
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.With)):
        for part in ast.walk(node) if not isinstance(node, (ast.For, ast.With)) else _targets(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id, None
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield from ((name, None) for name in _captured(case.pattern))
    yield from ((name, None) for name in _named(node))


def _named(node: ast.AST) -> Iterator[str]:
    """Yield the names that the expressions of a statement bind by `:=`, in whatever it is that they stand."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.NamedExpr):
            yield part.target.id
        if not isinstance(part, (ast.stmt, ast.Lambda)):
            yield from _named(part)


def _captured(pattern: ast.pattern) -> Iterator[str]:
    """Yield the names that a pattern binds."""
    for part in ast.walk(pattern):
        name = part.rest if isinstance(part, ast.MatchMapping) else getattr(part, "name", None)
        if name is not None:
            yield name


def _values(node: ast.expr) -> Iterator[Binding]:
    """Yield the bindings of an assigned value: dotted names, or None for anything else."""
    if isinstance(node, ast.IfExp):
        yield from _values(node.body)
        yield from _values(node.orelse)
        return
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    yield Alias(ast.unparse(node)) if isinstance(inner, ast.Name) else None


def _targets(node: ast.For | ast.With) -> Iterator[ast.AST]:
    targets = [node.target] if isinstance(node, ast.For) else [i.optional_vars for i in node.items if i.optional_vars]
    for target in targets:
        yield from ast.walk(target)


def listed(text: str) -> list[str] | None:
    """Return the names of an `__all__` that is assigned a literal once and not changed; None for any other."""
    if "__all__" not in text:
        return None
    tree = parsed(text)
    if sum(isinstance(node, ast.Name) and node.id == "__all__" for node in ast.walk(tree)) != 1:
        return None
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            try:
                return [str(name) for name in ast.literal_eval(getattr(node, "value", None) or "")]
            except (ValueError, TypeError, SyntaxError):
                return None
    return None
