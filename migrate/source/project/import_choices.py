"""What a program decides when it runs: which one of some files of the project it imports."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from migrate.source.files.notebook import SUFFIX
from migrate.source.project.dynamic_imports import FUNCTIONS, Dynamic, dynamic_import, names_of_imports
from migrate.source.project.import_graph import Project
from migrate.source.project.module_exports import listed
from migrate.source.project.module_resolution import Imported, imported_by
from migrate.source.syntax.blocks import parsed

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
            one.name for one in nodes if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
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
            one, other = self.groups(statement.body), self.groups(statement.orelse)
            pairs = [[*one[at], *other[at]] for at in range(min(len(one), len(other)))]
            rest = one[len(pairs) :] or other[len(pairs) :]
            return [*self._called(statement.test), *pairs, *rest]
        if isinstance(statement, ast.With):
            items = [group for item in statement.items for group in self._called(item.context_expr)]
            return [*items, *self.groups(statement.body)]
        if isinstance(statement, ast.Try):
            handled = [one for handler in statement.handlers for one in handler.body]
            return self.groups([*statement.body, *handled, *statement.orelse, *statement.finalbody])
        if isinstance(statement, ast.Import | ast.ImportFrom):
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
