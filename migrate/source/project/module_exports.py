"""Finds the top-level names of a module and their bindings, without executing it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from migrate.source.project.module_resolution import Imported, imported_by
from migrate.source.syntax.blocks import parsed, statements


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
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _top_level(statements(node))


def _bound(node: ast.stmt) -> Iterator[tuple[str, Binding]]:
    """Yield the names that a statement binds; star imports get unique names."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        for imported in imported_by(node):
            name = f"*{imported.level}{imported.module}" if imported.name == "*" else imported.bound
            yield name, imported
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, None
        yield from ((name, None) for part in ast.walk(node) if isinstance(part, ast.Global) for name in part.names)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        yield from ((node.targets[0].id, binding) for binding in _values(node.value))
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For | ast.With):
        for part in ast.walk(node) if not isinstance(node, ast.For | ast.With) else _targets(node):
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
        if not isinstance(part, ast.stmt | ast.Lambda):
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
