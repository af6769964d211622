"""Variable scopes: the static prefix of a variable's name, and options that a scope hands to its variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, is_none, string
from migrate.source.tensorflow.base.bindings import self_class
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.callers import (
    calls_itself,
    handed_on,
    has_loose_scopes,
    inherited_calls,
    is_decorated,
    is_harmless_context,
    object_calls,
    opens_scopes,
    runs_at_once,
)
from migrate.source.tensorflow.facts.calls.object_attributes import relatives

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
DEPTH = 12  #: how many callers of callers are asked
#: By tree: what was asked of it, and the answer.


def scope_calls(file: File, node: cst.CSTNode) -> Iterator[cst.Call]:
    """Yield the `variable_scope` calls around `node` up to its function, the nearest first."""
    for item in _contexts(file, node):
        if isinstance(item, cst.Call) and file.names.of(item.func) == "variable_scope":
            yield item


def _contexts(file: File, node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Yield what stands behind `with` around `node` up to its function, the nearest first."""
    for around in file.tree.ancestors(node):
        if isinstance(around, cst.FunctionDef):
            return
        if isinstance(around, cst.With):
            yield from (item.item for item in reversed(around.items))


def _is_unclear(file: File, node: cst.CSTNode) -> bool:
    """True when something around `node`, up to its function, may open a variable scope that is not seen."""
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
    """Return the value that the nearest enclosing scope gives for `option`, or None."""
    for call in scope_calls(file, node):
        bound = bind(call, PARAMETERS) or {}
        if option in bound and not is_none(bound[option]):
            return bound[option].value
    return None


def callers_option(file: File, node: cst.CSTNode, option: str) -> cst.BaseExpression | None:
    """Return a value that a scope around a call of the function of `node`, or of its callers, gives for `option`."""
    return once(file, (option, node), lambda: _callers_option(file, node, option))


def _callers_option(file: File, node: cst.CSTNode, option: str) -> cst.BaseExpression | None:
    sites = (site for site in reached(node, lambda one: _calls_around(file, one)) if site is not node)
    found = (enclosing_option(file, site, option) for site in sites)
    return next((value for value in found if value is not None), None)


def _calls_around(file: File, node: cst.CSTNode) -> list[cst.Call]:
    """Return the calls of the function around `node`."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    return call_sites(file, function) if function is not None else []


def prefix(file: File, node: cst.CSTNode, depth: int = DEPTH) -> tuple[str, ...] | None:
    """Return the names of all variable scopes around `node`, callers included; None when they are not static."""
    return once(file, ("prefix", node, depth), lambda: _prefix(file, node, depth))


def _prefix(file: File, node: cst.CSTNode, depth: int) -> tuple[str, ...] | None:
    if _is_unclear(file, node) or once(file, ("loose scopes",), lambda: has_loose_scopes(file)):
        return None
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


def runs(file: File, function: cst.FunctionDef) -> tuple[list[cst.CSTNode], bool]:
    """Return the places that run a function, and whether there may be others that the file does not show."""
    return once(file, ("runs", function), lambda: _runs(file, function))


def _runs(file: File, function: cst.FunctionDef) -> tuple[list[cst.CSTNode], bool]:
    places, unknown = handed_on(file, function)
    objects = object_calls(file, function)
    sites = [*call_sites(file, function), *inherited_calls(file, function), *places, *(objects or ())]
    return list({id(site): site for site in sites}.values()), unknown or objects is None or calls_itself(file, function)


def call_sites(file: File, function: cst.FunctionDef) -> list[cst.Call]:
    """Return the calls of this function in the file, by name; a constructor's are those of its class."""
    return [*once(file, ("call_sites", function), lambda: _call_sites(file, function))]


def _call_sites(file: File, function: cst.FunctionDef) -> list[cst.Call]:
    name = function.name.value
    owner = file.tree.enclosing(function, cst.ClassDef | cst.FunctionDef)  # type: ignore[arg-type]
    if name == "__init__" and isinstance(owner, cst.ClassDef):
        name = owner.name.value
    found = [call for call in calls_named(file, name) if _may_call(file, call, function)]
    return [call for call in found if not file.tree.contains(function, call)] + _renamed(file, function, name)


def calls_named(file: File, name: str) -> Sequence[cst.Call]:
    """Return the calls of what has this name, or is an attribute of this name, in source order."""
    return once(file, ("calls",), lambda: _by_name(file)).get(name, ())


def _by_name(file: File) -> dict[str, list[cst.Call]]:
    found: dict[str, list[cst.Call]] = {}
    for call in file.tree.calls:
        found.setdefault(_called(call), []).append(call)
    return found


def _may_call(file: File, call: cst.Call, function: cst.FunctionDef) -> bool:
    """False for a call in another file that shows that it means something else."""
    tree = file.tree
    if tree.module_of(call) is tree.module_of(function):
        return True
    if not tree.related(call, function):
        return False
    owner = tree.enclosing(function, cst.ClassDef)
    target = tree.named(call.func)
    if target is not None or isinstance(call.func, cst.Name):
        return target is function or (target is not None and target is owner)
    holder = self_class(tree, call.func) if isinstance(call.func, cst.Attribute) else None
    if holder is not None and owner is not None:
        return any(one is holder for one in relatives(file, owner))
    made = call.func.value if isinstance(call.func, cst.Attribute) else None
    cls = tree.named(made.func) if isinstance(made, cst.Call) else None
    if isinstance(cls, cst.ClassDef) and owner is not None:  # `Net().build()`
        return any(one is cls for one in relatives(file, owner))
    # A method of an object that is not known; one that is imported of another library is none of the program's.
    return not tree.imported_names(call.func)[0] or tree.is_inside(_leftmost(call.func))


def _leftmost(node: cst.BaseExpression) -> cst.BaseExpression:
    while isinstance(node, cst.Attribute | cst.Call | cst.Subscript):
        node = node.func if isinstance(node, cst.Call) else node.value
    return node


def _renamed(file: File, function: cst.FunctionDef, name: str) -> list[cst.Call]:
    """Return the calls in other files under a name given by `import ... as`."""
    tree = file.tree
    wanted = (function, tree.enclosing(function, cst.ClassDef))
    calls = [c for c in once(file, ("aliased",), lambda: _aliased(file)) if _called(c) != name]
    return [c for c in calls if (target := tree.named(c.func)) is not None and any(target is one for one in wanted)]


def _aliased(file: File) -> list[cst.Call]:
    return [c for c in file.tree.calls if isinstance(c.func, cst.Name) and file.tree.is_alias(c.func)]


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
