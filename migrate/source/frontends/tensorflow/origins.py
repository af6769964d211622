"""Where ids come from: a dataset, a placeholder, or something that the source does not show."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.args import bind
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.possible import bindings, possible

DATASET, FED, UNKNOWN = "dataset", "placeholder", "unknown"
PLACEHOLDERS = {"placeholder", "placeholder_with_default", "sparse_placeholder"}
DEPTH = 10


def origins(file: File, node: cst.BaseExpression, depth: int = DEPTH) -> set[str]:
    """Return all that `node` is computed from; nothing for constants."""
    found: set[str] = set()
    for value in possible(file, node) if depth else []:
        found |= _of(file, value, depth)
    return found if depth else {UNKNOWN}


def _of(file: File, value: cst.BaseExpression, depth: int) -> set[str]:
    if file.names.of(value) is not None:
        return set()
    if isinstance(value, cst.Call):
        return _of_call(file, value, depth)
    if isinstance(value, cst.Subscript):
        return origins(file, value.value, depth - 1)
    if isinstance(value, cst.Name):
        if _is_features(file, value):
            return {DATASET}
        given = _given(file, value)
        if given is not None:
            return set().union(*(origins(file, one, depth - 1) for one in given))
        whole = [_unpacked(file, target) for target in bindings(file, value)]
        found: set[str] = set().union(*(origins(file, one, depth - 1) for one in whole if one is not None))
        return found if whole and None not in whole else found | {UNKNOWN}
    if isinstance(value, cst.Attribute):
        return origins(file, value.value, depth - 1) if not file.tree.is_inside(value) else {UNKNOWN}
    parts = _parts(value)
    return set().union(*(origins(file, part, depth - 1) for part in parts))


def _given(file: File, name: cst.Name) -> list[cst.BaseExpression] | None:
    """Return what every call gives for a parameter of a function; None for other names and where that is not seen."""
    param = file.tree.parent(name)
    function = file.tree.enclosing(name, cst.FunctionDef)
    if not isinstance(param, cst.Param) or function is None or file.tree.enclosing(function, cst.ClassDef) is not None:
        return None
    names = [p.name.value for p in function.params.params]
    found = []
    for use in file.tree.names.get(function.name.value, ()):
        call = file.tree.parent(use)
        if call is function:
            continue
        bound = bind(call, names) if isinstance(call, cst.Call) and call.func is use else None
        if bound is None or name.value not in bound:
            return None
        found.append(bound[name.value].value)
    return found or None


def _unpacked(file: File, target: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the `value` of `a, b = value`, of which `target` is one name."""
    element = file.tree.parent(target)
    listed = file.tree.parent(element) if isinstance(element, cst.Element) else None
    place = file.tree.parent(listed) if listed is not None else None
    assign = file.tree.parent(place) if isinstance(place, cst.AssignTarget) else None
    return assign.value if isinstance(assign, cst.Assign) else None


def _of_call(file: File, call: cst.Call, depth: int) -> set[str]:
    if file.names.of(call.func) in PLACEHOLDERS:
        return {FED}
    method = call.func if isinstance(call.func, cst.Attribute) else None
    if method is not None and method.attr.value == "get_next":
        return {DATASET}
    parts = [arg.value for arg in call.args]
    if file.names.of(call.func) is None:
        parts += [method.value] if method is not None else []
        if not parts:
            return {UNKNOWN}
    return set().union(*(origins(file, part, depth - 1) for part in parts))


def _parts(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the expressions directly inside an expression."""
    found: list[cst.BaseExpression] = []
    pending = list(value.children)
    while pending:
        child = pending.pop()
        if isinstance(child, cst.BaseExpression):
            found.append(child)
        else:
            pending += child.children
    return found


def _is_features(file: File, name: cst.Name) -> bool:
    """True for the `features` of an Estimator's model function."""
    function = file.tree.enclosing(name, cst.FunctionDef)
    while function is not None:
        parameters = [p.name.value for p in function.params.params]
        if {"features", "mode"} <= {*parameters} and name.value in {"features", "labels"}:
            return True
        function = file.tree.enclosing(function, cst.FunctionDef)
    return False
