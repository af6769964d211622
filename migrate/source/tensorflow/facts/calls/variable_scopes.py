"""Variable scopes: the static prefix of a variable's name, and the options that a scope passes to its variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.flow import frame_of, loops_around
from migrate.source.tensorflow.base.arguments import bind, is_none, string
from migrate.source.tensorflow.base.rule_kinds import File, cached_query
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.callers import (
    call_sites,
    has_loose_scopes,
    is_decorated,
    is_harmless_context,
    opens_scopes,
    runs,
    runs_at_once,
)

PARAMETERS = [
    "name_or_scope", "default_name", "values", "initializer", "regularizer", "caching_device", "partitioner",
    "custom_getter", "reuse", "dtype", "use_resource", "constraint", "auxiliary_name_scope",
]  # fmt: skip
DEPTH = 12  #: the deepest chain of callers that is examined


def scope_calls(file: File, node: cst.CSTNode) -> Iterator[cst.Call]:
    """Yield the `variable_scope` calls around `node` within its function, innermost first."""
    for item in _contexts(file, node):
        if isinstance(item, cst.Call) and file.names.of(item.func) == "variable_scope":
            yield item


def _contexts(file: File, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Yield the context managers around `node` within its function, innermost first."""
    for around in file.tree.ancestors(node):
        if isinstance(around, cst.FunctionDef):
            return
        if isinstance(around, cst.With):
            yield from (item.item for item in reversed(around.items))


def _is_unclear(file: File, node: cst.CSTNode) -> bool:
    """True if code around `node`, within its function, may open a variable scope that is not recognized."""
    scopes = list(scope_calls(file, node))
    others = [one for one in _contexts(file, node) if not any(one is call for call in scopes)]
    if not all(is_harmless_context(file, one) for one in others):
        return True
    for around in file.tree.ancestors(node) if opens_scopes(file) else ():
        if isinstance(around, cst.FunctionDef):
            break
        if isinstance(around, cst.Lambda) and not runs_at_once(file, around):
            return True
    return False


def enclosing_option(file: File, node: cst.CSTNode, option: str) -> cst.BaseExpression | None:
    """Return the value of `option` in the innermost enclosing scope that has it, or None."""
    for call in scope_calls(file, node):
        bound = bind(call, PARAMETERS) or {}
        if option in bound and not is_none(bound[option]):
            return bound[option].value
    return None


@cached_query
def callers_option(file: File, node: cst.CSTNode, option: str) -> cst.BaseExpression | None:
    """Return a value of `option` in a scope around a direct or indirect call of the function of `node`, or None."""
    sites = (site for site in reached(node, lambda inner: _calls_around(file, inner)) if site is not node)
    options = (enclosing_option(file, site, option) for site in sites)
    return next((value for value in options if value is not None), None)


def _calls_around(file: File, node: cst.CSTNode) -> list[cst.Call]:
    """Return the calls of the function around `node`."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    return call_sites(file, function) if function is not None else []


@cached_query
def prefix(file: File, node: cst.CSTNode, depth: int = DEPTH) -> tuple[str, ...] | None:
    """Return the names of all variable scopes around `node`, in callers too; None if they are not static."""
    if _is_unclear(file, node) or has_loose_scopes(file):
        return None
    parts: list[str] = []
    for call in scope_calls(file, node):
        bound = bind(call, PARAMETERS)
        scope = bound["name_or_scope"].value if bound and "name_or_scope" in bound else None
        if isinstance(scope, cst.Call) and file.names.of(scope.func) == "get_variable_scope":
            continue  # the scope that is already open
        name = string(scope)
        if name is None:
            return None
        parts.insert(0, name)
    function = file.tree.enclosing(node, cst.FunctionDef)
    if function is None:
        return tuple(parts)
    if depth == 0:
        return None if opens_scopes(file) else tuple(parts)
    sites, unknown = runs(file, function)
    if is_decorated(file, function) or (unknown and opens_scopes(file)):
        return None
    outer = {prefix(file, site, depth - 1) for site in sites} or {()}
    only = outer.pop()
    return None if outer or only is None else (*only, *parts)


def full_name(scopes: Sequence[str] | None, name: str | None) -> str:
    """Return a name with its scopes before it; an empty scope adds nothing."""
    return "/".join([*filter(None, scopes or ()), name or ""])


def in_loop(file: File, node: cst.CSTNode) -> bool:
    """True if `node` may run several times within its function; a lambda may run at any time."""
    return isinstance(frame_of(file.tree, node), cst.Lambda) or any(loops_around(file.tree, node))
