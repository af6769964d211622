"""Groups files that are analysed together: those that one program may run, whatever words they have.

A program may decide when it runs which one of some files of the project it imports: these are not run together.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from migrate.source.files.notebook import SUFFIX
from migrate.source.project.discovery import FRAMEWORKS
from migrate.source.project.dynamic_imports import FUNCTIONS, Dynamic, dynamic_import, names_of_imports
from migrate.source.project.import_graph import Project
from migrate.source.project.module_resolution import Imported, imported_by, listed
from migrate.source.syntax.blocks import parsed

FRAMEWORK = re.compile("|".join(FRAMEWORKS))
#: What a program names from which TensorFlow's front end may have something to convert.
_TENSORFLOW = re.compile("|".join(name for name in FRAMEWORKS if name != "paddle"))
#: If the files of a program have more characters, they are analysed one by one.
LIMIT = 2_000_000


class Programs:
    """Finds files that one program may run: those that a file of the project imports, directly or indirectly."""

    def __init__(self, project: Project) -> None:
        """Take the project; no file is read yet."""
        self.project = project
        self._entries: dict[str, frozenset[str]] = {}
        self._units: dict[str, tuple[str, ...]] | None = None
        self._crowded: set[str] = set()
        self._concerned_of: dict[str, frozenset[str]] = {}
        self._choices: dict[str, list[Choice]] = {}
        self._related: dict[tuple[str, str], bool] = {}

    @cached_property
    def concerned(self) -> frozenset[str]:
        """The files that are analysed with those of their programs.

        These are all files of each program that has the framework: one that does not name it may be handed a table,
        a model, a graph or the framework itself, whatever words it has for them.
        """
        files = self.project.files
        if len(files) < 2:
            return frozenset()
        framework = {path for path in files if self.project.holds(path, FRAMEWORK)}
        packages = (path for path in files if self.project.modules.is_package(path))
        programs = {path for path in packages if not framework.isdisjoint(self.project.closure(path))}
        programs = programs.union(*(self.entries(path) for path in framework))
        return frozenset(programs.union(*(self.project.closure(path) for path in programs)))

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        importers: dict[str, set[str]] = {}
        for path in self.project.files:
            for imported in self.project.edges(path):
                importers.setdefault(imported, set()).add(path)
        return importers

    def entries(self, path: str) -> frozenset[str]:
        """Return `path` and the files that import it, directly or indirectly; packages are no programs."""
        if path not in self._entries:
            entries, pending = {path}, [path]
            while pending:
                new = self._importers.get(pending.pop(), set()) - entries
                entries |= new
                pending += new
            packages = {p for p in entries if p != path and self.project.modules.is_package(p)}
            self._entries[path] = frozenset(entries - packages)
        return self._entries[path]

    def related(self, first: str, second: str) -> bool:
        """True if one program may run both files."""
        pair = (first, second) if first < second else (second, first)
        if pair not in self._related:
            shared = self.entries(first) & self.entries(second)
            self._related[pair] = first == second or any(not self._imports_one(one, first, second) for one in shared)
        return self._related[pair]

    def _imports_one(self, entry: str, first: str, second: str) -> bool:
        """True if a run of the program `entry` imports at most one of two files."""
        if entry not in self._choices:
            self._choices[entry] = [] if self._importers.get(entry) else [*choices(self.project, entry)]
        return any(choice.separates(first, second) for choice in self._choices[entry])

    def unit(self, path: str) -> tuple[str, ...]:
        """Return the files that are analysed together with `path`, in order, including itself."""
        if self._units is None:
            self._units = {member: unit for unit in self._connected() for member in unit}
        return self._units.get(path, (path,))

    def _connected(self) -> Iterator[tuple[str, ...]]:
        """Yield the groups of concerned files that share programs, unless they are too large."""
        group: dict[str, str] = {}

        def root(name: str) -> str:
            while group.setdefault(name, name) != name:
                group[name] = group[group[name]]
                name = group[name]
            return name

        for path in self.concerned:
            for entry in self.entries(path):
                group[root(path)] = root(f"entry:{entry}")
        units: dict[str, list[str]] = {}
        for path in self.project.files:
            if path in self.concerned:
                units.setdefault(root(path), []).append(path)
        for unit in units.values():
            if len(unit) > 1 and sum(len(self.project.text(path)) for path in unit) <= LIMIT:
                yield tuple(unit)
            elif len(unit) > 1:
                self._crowded |= set(unit)

    def may_use(self, unit: Sequence[str], words: re.Pattern[str]) -> bool:
        """True if files that are analysed together name TensorFlow, and have one of the words."""
        return all(any(self.project.holds(path, each) for path in unit) for each in (_TENSORFLOW, words))

    def is_crowded(self, path: str) -> bool:
        """True for a file that is analysed alone because its programs are too large."""
        self.unit(path)
        return path in self._crowded

    @cached_property
    def _open(self) -> tuple[str, ...]:
        """The files with a dynamic import of any module that share a program with a concerned file."""
        dynamic = [one for one in self.project.files if any(call.open for call in self.project.by_text(one))]
        return tuple(one for one in dynamic if any(map(self._brought, self.entries(one))))

    def opened(self, path: str) -> tuple[str, ...]:
        """Return the files whose dynamic imports may be of any module, and so of `path` or its programs."""
        mine = any(call.open for call in self.project.by_text(path))
        return self._open if path in self._open or not mine else (*self._open, path)

    def _brought(self, entry: str) -> frozenset[str]:
        if entry not in self._concerned_of:
            self._concerned_of[entry] = self.project.closure(entry) & self.concerned
        return self._concerned_of[entry]

    def group(self, path: str) -> str:
        """Return the name of the group of files that one process should convert, as they are analysed together."""
        return min(self.unit(path)) if path in self.concerned else path

    def dependencies(self, path: str) -> tuple[str, ...]:
        """Return the other files whose contents may change the findings in `path`."""
        if path not in self.concerned:
            return tuple(sorted((self.entries(path) | self.project.closure(path)) - {path}))
        entries = {entry for member in self.unit(path) for entry in self.entries(member)}
        return tuple(sorted({one for entry in entries for one in self.project.closure(entry)} - {path}))


def programs_of(project: Project) -> Programs:
    """Return the programs of a project, which are cached."""
    programs = project.memory.setdefault("programs", Programs(project))
    assert isinstance(programs, Programs)
    return programs


#: Code that may import a file without naming it, or run the functions of the program's module again.
_HIDDEN = re.compile(
    r"\b(?:iter_modules|walk_packages|find_module|load_module|exec\s*\(|(?:from|import)\s+__main__)|\[.__main__.\]"
)
_STARS = re.compile(r"\b__all__\b")

_CALLED = re.compile(r"(\w+)\s*\(")  #: what a text such as that of `eval("load()")` calls
_LATER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Choice:
    """A program runs the files of at most one of some sets."""

    always: frozenset[str]  #: the files that it may run whatever it chooses
    one_of: tuple[frozenset[str], ...]

    def separates(self, first: str, second: str) -> bool:
        """True if no run includes both files."""
        if first in self.always or second in self.always:
            return False
        return not any(first in one and second in one for one in self.one_of)


def choices(project: Project, entry: str) -> Iterator[Choice]:
    """Yield the choices of a program that no other file imports, so that its module is executed once."""
    groups = groups_of(project.text(entry)) if not entry.endswith(SUFFIX) else ()
    if not groups or any(_hides(project, path) for path in project.closure(entry)) or _imports_itself(project, entry):
        return
    for group in groups:
        statements = Counter(one for site in group for one in site.imports)
        calls = Counter(site.dynamic for site in group if site.dynamic is not None)
        imports = (Counter(project.imports(entry)) - statements).elements()
        dynamic = (Counter(project.by_text(entry)) - calls).elements()
        always = project.imported_files(entry, imports, dynamic)
        one_of = [project.imported_files(entry, site.imports, ()) for site in group if site.imports]
        for site in group:
            for file in project.files_by_text(entry, [site.dynamic]) if site.dynamic is not None else ():
                one_of.append(frozenset([file, *project.modules.packages(file, entry)]))
        if len(one_of) > 1:
            yield Choice(project.reached([entry, *always], entry), tuple(map(project.reached, one_of)))


def _hides(project: Project, path: str) -> bool:
    """True for a file that may import any file of the project, or run the program's functions again."""
    if any(call.open for call in project.by_text(path)) or project.holds(path, _HIDDEN):
        return True
    return project.modules.is_package(path) and project.holds(path, _STARS) and listed(project.text(path)) is None


def _imports_itself(project: Project, entry: str) -> bool:
    """True for `import main` in main.py, which executes the module a second time."""
    return any(project.modules.find(entry, one.module, one.level) == entry for one in project.imports(entry))


@dataclass(frozen=True)
class Site:
    """An import statement, or a dynamic import, that runs at most once."""

    imports: tuple[Imported, ...] = ()
    dynamic: Dynamic | None = None


Group = tuple[Site, ...]  #: at most one of them runs


def groups_of(text: str) -> tuple[Group, ...]:
    """Return the groups of imports of a program's text, of each of which one run does at most one."""
    if not any(word in text for word in (*FUNCTIONS, "else:")):
        return ()
    tree = parsed(text)
    groups = _Once(tree).groups(tree.body)
    return tuple(tuple(group) for group in groups if len(group) > 1 or group[0].dynamic is not None)


class _Once:
    """Walks through the code that a program runs at most once: not loops, nor functions that have other callers."""

    def __init__(self, tree: ast.Module) -> None:
        self._named = names_of_imports(tree)
        self._functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
        nodes = [*ast.walk(tree)]
        self._bound = Counter(
            one.name for one in nodes if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        )
        names = [one for one in nodes if isinstance(one, ast.Name)]
        self._bound.update(one.id for one in names if not isinstance(one.ctx, ast.Load))
        self._used = Counter(one.id for one in names if isinstance(one.ctx, ast.Load))
        texts = [one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        self._told = {*texts, *(name for text in texts for name in _CALLED.findall(text))}

    def groups(self, body: Sequence[ast.stmt]) -> list[list[Site]]:
        """Return the groups of statements that run one after the other."""
        return [group for statement in body for group in self._of(statement)]

    def _of(self, statement: ast.stmt) -> list[list[Site]]:
        if isinstance(statement, ast.If):
            body, orelse = self.groups(statement.body), self.groups(statement.orelse)
            pairs = [[*body[at], *orelse[at]] for at in range(min(len(body), len(orelse)))]
            rest = body[len(pairs) :] or orelse[len(pairs) :]
            return [*self._called(statement.test), *pairs, *rest]
        if isinstance(statement, ast.With):
            items = [group for item in statement.items for group in self._called(item.context_expr)]
            return [*items, *self.groups(statement.body)]
        if isinstance(statement, ast.Try):
            handled = [one for handler in statement.handlers for one in handler.body]
            return self.groups([*statement.body, *handled, *statement.orelse, *statement.finalbody])
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return [[Site(imports=tuple(imported_by(statement)))]]
        simple = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)
        return self._called(statement) if isinstance(statement, simple) else []

    def _called(self, node: ast.AST) -> list[list[Site]]:
        """Return the groups of the calls in an expression or simple statement."""
        groups: list[list[Site]] = []
        for call in _calls(node):
            dynamic = dynamic_import(call, self._named)
            if dynamic is not None and not dynamic.open:
                groups.append([Site(dynamic=dynamic)])
            elif (function := self._function(call)) is not None:
                groups += self.groups(function.body)
        return groups

    def _function(self, call: ast.Call) -> ast.FunctionDef | None:
        """Return the function that this call runs, if nothing else in the file runs it."""
        name, uses = (call.func.id, 1) if isinstance(call.func, ast.Name) else ("", 0)
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func).split(".")[-2:] == [
            "app",
            "run",
        ]:  # `tf.app.run(main)`
            argument = call.args[0] if call.args else None
            name, uses = (argument.id, 1) if isinstance(argument, ast.Name) else ("" if argument else "main", 0)
        function = self._functions.get(name)
        alone = self._used[name] == uses and self._bound[name] == 1 and name not in self._told
        return function if function is not None and alone and not function.decorator_list else None


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls below a node that run at most once."""
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _LATER):
            yield from _calls(child)
