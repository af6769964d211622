"""Names that code changes without writing them: by `globals()`, `exec`, `setattr` of a module, or a dot behind one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
from libcst.metadata import Scope

from migrate.source.tree import Tree

#: Functions that run a text, but `eval`, which binds no name; words by which a program gets a module without naming it.
_RUNS = ("exec", "execfile")
_REFLECTS = ("modules", "import_module", "__import__")
_SPACES = ("globals", "locals", "vars")
#: Methods of a dict that change nothing.
_LOOKS = {"get", "items", "keys", "values", "copy", "__contains__"}


def reflects(trees: Sequence[Tree]) -> bool:
    """True where a file may get a module of the program without naming it."""
    return any(word in tree.names or word in tree.attributes for tree in trees for word in _REFLECTS)


def opened(tree: Tree, reflecting: bool) -> list[Scope]:
    """Return the scopes of which any name may be changed by code that is not seen."""
    found: list[Scope] = []
    for word in _RUNS:
        for node in tree.names.get(word, ()):
            if (scope := tree.scope(node)) is not None:
                found += [scope, scope.globals]
    for word in _SPACES:
        for node in tree.names.get(word, ()):
            scope = tree.scope(node)
            if scope is None or (word != "globals" and scope is not scope.globals):
                continue  # what `locals()` of a function gives is a copy
            if _may_change(tree, node):
                found.append(scope.globals)
    if reflecting and "setattr" in tree.names and tree.module.body:
        first = tree.scope(tree.module.body[0])
        found += [first.globals] if first is not None else []
    return list({id(scope): scope for scope in found}.values())


def _may_change(tree: Tree, node: cst.CSTNode) -> bool:
    call = tree.parent(node)
    if not isinstance(call, cst.Call) or call.func is not node:
        return True
    if call.args:
        return False  # `vars(x)`
    around = tree.parent(call)
    if isinstance(around, cst.Subscript):
        return is_target(tree, around)
    if isinstance(around, cst.Attribute):
        return around.attr.value not in _LOOKS
    return not isinstance(around, cst.ComparisonTarget)


def set_from_afar(trees: Sequence[Tree]) -> set[str]:
    """Return the names that stand behind a dot where something is assigned, but for those of `self` and `cls`."""
    return {name for tree in trees for name in _set_in(tree)}


def _set_in(tree: Tree) -> Iterator[str]:
    for name, nodes in tree.attributes.items():
        for node in nodes:
            own = isinstance(node.value, cst.Name) and node.value.value in {"self", "cls"}
            if not own and is_target(tree, node):
                yield name
                break
    for call in tree.calls:
        if isinstance(call.func, cst.Name) and call.func.value == "setattr" and len(call.args) == 3:
            text = call.args[1].value
            if isinstance(text, cst.SimpleString):
                yield str(text.evaluated_value)


def is_target(tree: Tree, node: cst.CSTNode) -> bool:
    """True where something is assigned to an attribute or an entry, or where it is deleted."""
    around = tree.parent(node)
    while isinstance(around, cst.Element | cst.StarredElement | cst.Tuple | cst.List):
        node, around = around, tree.parent(around)
    if isinstance(around, cst.AssignTarget | cst.AsName | cst.Del):
        return True
    return isinstance(around, cst.AnnAssign | cst.AugAssign | cst.For | cst.CompFor) and around.target is node
