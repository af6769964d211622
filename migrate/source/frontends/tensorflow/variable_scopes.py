"""Variable scopes: the static prefix of a variable's name, and options that a scope hands to its variables."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.frontends.tensorflow.args import bind, is_none, string
from migrate.source.frontends.tensorflow.kinds import File

PARAMETERS = [
    "name_or_scope",
    "default_name",
    "values",
    "initializer",
    "regularizer",
    "caching_device",
    "partitioner",
    "custom_getter",
    "reuse",
    "dtype",
    "use_resource",
    "constraint",
    "auxiliary_name_scope",
]
FUNCTIONS = (cst.FunctionDef, cst.Lambda)


def scope_calls(file: File, node: cst.CSTNode) -> Iterator[cst.Call]:
    """Yield the `variable_scope` calls around `node` up to its function, the nearest first."""
    for around in file.tree.ancestors(node):
        if isinstance(around, FUNCTIONS):
            return
        if isinstance(around, cst.With):
            for item in reversed(around.items):
                if isinstance(item.item, cst.Call) and file.names.of(item.item.func) == "variable_scope":
                    yield item.item


def enclosing_option(file: File, node: cst.CSTNode, option: str) -> cst.BaseExpression | None:
    """Return the value that the nearest enclosing scope gives for `option`, or None."""
    for call in scope_calls(file, node):
        bound = bind(call, PARAMETERS) or {}
        if option in bound and not is_none(bound[option]):
            return bound[option].value
    return None


def prefix(file: File, node: cst.CSTNode, depth: int = 6) -> tuple[str, ...] | None:
    """Return the names of all variable scopes around `node`, callers included; None when they are not static."""
    parts: list[str] = []
    for call in scope_calls(file, node):
        bound = bind(call, PARAMETERS)
        given = bound["name_or_scope"].value if bound and "name_or_scope" in bound else None
        if isinstance(given, cst.Call) and file.names.of(given.func) == "get_variable_scope":
            continue  # the scope that is already open
        name = string(given)
        if name is None:
            return None
        parts.insert(0, name)
    function = file.tree.enclosing(node, cst.FunctionDef)
    if function is None or depth == 0:
        return tuple(parts)
    outer = {prefix(file, site, depth - 1) for site in call_sites(file, function)} or {()}
    only = outer.pop()
    return None if outer or only is None else (*only, *parts)


def call_sites(file: File, function: cst.FunctionDef) -> list[cst.Call]:
    """Return the calls of this function in the file, by name; a constructor's are those of its class."""
    name = function.name.value
    owner = file.tree.enclosing(function, cst.ClassDef | cst.FunctionDef)  # type: ignore[arg-type]
    if name == "__init__" and isinstance(owner, cst.ClassDef):
        name = owner.name.value
    return [call for call in file.tree.calls if _called(call) == name and not file.tree.contains(function, call)]


def _called(call: cst.Call) -> str:
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value
    return call.func.value if isinstance(call.func, cst.Name) else ""


def in_loop(file: File, node: cst.CSTNode) -> bool:
    """True when `node` may run several times within its function."""
    for around in file.tree.ancestors(node):
        if isinstance(around, FUNCTIONS):
            return isinstance(around, cst.Lambda)
        if isinstance(around, cst.For | cst.While | cst.BaseComp):
            return True
    return False
