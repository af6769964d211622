"""What binds a name: the scopes, the nodes, the code that it runs in, and whether it happens on every path."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst
from libcst.metadata import Assignment, ClassScope, GlobalScope, Scope

from migrate.source.syntax.tree import Tree

#: A binding: the target name, or the alias of an import.
Binding = cst.Name | cst.ImportAlias

#: A code object: a function, a lambda, or a module body.
Frame = cst.FunctionDef | cst.Lambda | cst.Module


def owners(tree: Tree, name: str, node: cst.CSTNode) -> list[Scope]:
    """Return the scopes that bind `name` as seen from `node`; empty for builtins and unbound names."""
    scope = tree.scope(node)
    if scope is None:
        return []
    key = ("owners of a name", id(scope), name)
    if key not in tree.answers:  # cached, since a name may have thousands of assignments
        scopes = (
            {id(one.scope): one.scope for one in scope[name] if isinstance(one, Assignment)} if name in scope else {}
        )
        tree.answers[key] = tuple(scopes.values())
    return list(tree.answers[key])


def scopes_read(tree: Tree, name: str, node: cst.CSTNode) -> list[Scope]:
    """Return the scopes in which a use of `name` may find it; a name in a class body may not be bound there yet."""
    scopes = owners(tree, name, node)
    scope = tree.scope(node)
    if isinstance(scope, ClassScope) and any(one is scope for one in scopes) and name in scope.parent:
        scopes += [one.scope for one in scope.parent[name] if isinstance(one, Assignment)]
    return scopes


def names_in(target: cst.CSTNode) -> Iterator[cst.Name]:
    """Yield the names that a target binds, including those in tuples."""
    pending = [target]
    while pending:
        node = pending.pop()
        if isinstance(node, cst.Name):
            yield node
        elif isinstance(node, (cst.Tuple, cst.List)):
            pending += [element.value for element in node.elements]


def bound_name(alias: cst.ImportAlias) -> str:
    """Return the name that an import alias binds."""
    bound: cst.BaseExpression = alias.asname.name if alias.asname is not None else alias.name  # type: ignore[assignment]
    while isinstance(bound, cst.Attribute):
        bound = bound.value
    return bound.value if isinstance(bound, cst.Name) else ""


def captured(node: cst.CSTNode) -> str | None:
    """Return the name that a part of a `match` pattern captures."""
    name = node.rest if isinstance(node, cst.MatchMapping) else node.name  # type: ignore[attr-defined]
    return name.value if isinstance(name, cst.Name) else None


def bound(node: cst.CSTNode) -> Iterator[Binding]:
    """Yield the bindings of one node, without those of its children."""
    if isinstance(node, (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr)):
        yield from names_in(node.target)
    elif isinstance(node, cst.AsName):
        yield from names_in(node.name)
    elif isinstance(node, cst.ImportAlias):
        yield node
    elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        yield node.name


def certain_names(body: Iterable[cst.CSTNode]) -> set[str]:
    """Return the names that a block binds on every path."""
    names: set[str] = set()
    for node in body:
        if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
            names |= certain_names(node.body)
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            names.add(node.name.value)
        elif isinstance(node, cst.Assign):
            names.update(name.value for one in node.targets for name in names_in(one.target))
        elif isinstance(node, cst.AnnAssign) and node.value is not None:
            names.update(name.value for name in names_in(node.target))
        elif isinstance(node, (cst.Import, cst.ImportFrom)) and not isinstance(node.names, cst.ImportStar):
            names.update(bound_name(alias) for alias in node.names)
    return names


def parameters_of(params: cst.Parameters) -> list[cst.Param]:
    """Return all parameters, starred ones last."""
    stars = [one for one in (params.star_arg, params.star_kwarg) if isinstance(one, cst.Param)]
    return [*params.posonly_params, *params.params, *params.kwonly_params, *stars]


def may_be_unbound(tree: Tree, node: cst.Name) -> bool:
    """True for a module-level or class-level name that may be read before it is bound."""
    scopes = owners(tree, node.value, node)
    if any(isinstance(scope, ClassScope) for scope in scopes):
        return True
    return any(isinstance(scope, GlobalScope) for scope in scopes) and not _is_bound_before(tree, node)


def _is_bound_before(tree: Tree, node: cst.Name) -> bool:
    """True if the module surely binds the name above the code that reads it."""
    body = tree.module_of(node).body
    around = {id(one) for one in tree.ancestors(node)}
    place = next((n for n, one in enumerate(body) if id(one) in around), None)
    bound = next((n for n, one in enumerate(body) if node.value in certain_names([one])), None)
    if place is None or bound is None or _is_deleted(tree, node.value):
        return False
    return place > bound or (place == bound and not isinstance(frame_of(tree, node), cst.Module))


def _is_deleted(tree: Tree, name: str) -> bool:
    """True if a `del` may take the name away again."""
    uses = tree.names.get(name, ())
    return any(isinstance(around, cst.Del) for use in uses for around in tree.ancestors(use))


def frame_of(tree: Tree, node: cst.CSTNode) -> Frame:
    """Return the function whose body contains `node`; defaults and decorators belong to the enclosing code."""
    before = node
    for around in tree.ancestors(node):
        if isinstance(around, (cst.FunctionDef, cst.Lambda)) and around.body is before:
            return around
        before = around
    return tree.module_of(node)
