"""Names that code may rebind by reflection: `globals()`, `exec`, `setattr` on a module, or `module.name = ...`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
from libcst.metadata import QualifiedNameSource, Scope

from migrate.source.syntax.tree import Tree

#: Functions that execute code (`eval` binds no name), and identifiers by which a program gets a module by its name.
_RUNS = ("exec", "execfile")
_REFLECTS = ("modules", "import_module", "__import__")
#: Identifiers by which a program gets hold of every object.
_ALL_OBJECTS = ("get_objects", "get_referrers", "get_referents", "getclosurevars")
_SPACES = ("globals", "locals", "vars")
#: Methods of a dict that do not modify it.
_LOOKS = {"get", "items", "keys", "values", "copy", "__contains__"}


def reflects(trees: Sequence[Tree]) -> bool:
    """True if a file may get a module of the program by its name, without an import statement."""
    return any(word in tree.names or word in tree.attributes for tree in trees for word in _REFLECTS)


def finds_all(trees: Sequence[Tree]) -> cst.CSTNode | None:
    """Return the first place that may get hold of every object, as by `gc.get_objects()`; None if there is none."""
    named = (node for tree in trees for word in _ALL_OBJECTS for node in tree.names.get(word, ()))
    return next(named, None)


def set_in_modules(tree: Tree) -> Iterator[str]:
    """Yield the qualified names of imported modules on which `setattr` sets a name that is not a literal.

    Those that `sys.modules["name"] = x` replaces are among them: what importers read there is no name of the file.
    """
    for key in _keys_set(tree):
        if isinstance(key, cst.SimpleString):
            yield str(key.evaluated_value)
    for call in tree.calls:
        if not isinstance(call.func, cst.Name) or call.func.value != "setattr" or len(call.args) != 3:
            continue
        target, scope = call.args[0].value, tree.scope(call)
        if isinstance(call.args[1].value, cst.SimpleString) or scope is None:
            continue
        for name in scope.get_qualified_names_for(target):
            if name.source is QualifiedNameSource.IMPORT:
                yield name.name


def opened(tree: Tree, reflecting: bool, everything: bool = False) -> list[Scope]:
    """Return the scopes in which reflection may rebind any name; with `everything`, the module's among them."""
    scopes: list[Scope] = []
    everything = everything or any(isinstance(key, cst.Name) and key.value == "__name__" for key in _keys_set(tree))
    if everything and tree.module.body and (first := tree.scope(tree.module.body[0])) is not None:
        scopes.append(first.globals)
    for word in _RUNS:
        for node in tree.names.get(word, ()):
            if (scope := tree.scope(node)) is not None:
                scopes += [scope, scope.globals]
    for word in _SPACES:
        for node in tree.names.get(word, ()):
            scope = tree.scope(node)
            if scope is None or (word != "globals" and scope is not scope.globals):
                continue  # `locals()` of a function returns a copy
            if _may_change(tree, node):
                scopes.append(scope.globals)
    if reflecting and "setattr" in tree.names and tree.module.body:
        first = tree.scope(tree.module.body[0])
        scopes += [first.globals] if first is not None else []
    return list({id(scope): scope for scope in scopes}.values())


def _keys_set(tree: Tree) -> Iterator[cst.BaseExpression]:
    """Yield the keys under which a file stores in `sys.modules`."""
    for node in (*tree.attributes.get("modules", ()), *tree.names.get("modules", ())):
        entry = tree.parent(node)
        if isinstance(entry, cst.Subscript) and entry.value is node and tree.is_target(entry):
            yield from (one.slice.value for one in entry.slice if isinstance(one.slice, cst.Index))


def _may_change(tree: Tree, node: cst.CSTNode) -> bool:
    """True if a use of `globals`, `locals` or `vars` may rebind a name of the module."""
    call = tree.parent(node)
    if not isinstance(call, cst.Call) or call.func is not node:
        return True
    if call.args:
        return False  # `vars(x)` returns the attributes of `x`
    around = tree.parent(call)
    if isinstance(around, cst.Subscript):
        return tree.is_target(around)
    if isinstance(around, cst.Attribute):
        return around.attr.value not in _LOOKS
    return not isinstance(around, cst.ComparisonTarget)


def set_from_afar(trees: Sequence[Tree]) -> set[str]:
    """Return the names of attributes that are assigned on objects other than `self` and `cls`."""
    return {name for tree in trees for name in _set_in(tree)}


def _set_in(tree: Tree) -> Iterator[str]:
    """Yield the names of attributes that a file assigns on objects other than `self` and `cls`."""
    for name, nodes in tree.attributes.items():
        for node in nodes:
            own = isinstance(node.value, cst.Name) and node.value.value in {"self", "cls"}
            if not own and tree.is_target(node):
                yield name
                break
    for call in tree.calls:
        if isinstance(call.func, cst.Name) and call.func.value == "setattr" and len(call.args) == 3:
            text = call.args[1].value
            if isinstance(text, cst.SimpleString):
                yield str(text.evaluated_value)
