"""Tables that are handed on: returned by a function to its callers, or passed to one that looks them up.

A function is followed only when every use of its name is a call that is seen, here or in the files judged with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.frontends.tensorflow.called import callee, calls_of, parameters
from migrate.source.frontends.tensorflow.kinds import File


def parameter_of(file: File, node: cst.BaseExpression) -> tuple[cst.Name, list[cst.BaseExpression]] | None:
    """Return the parameter that takes `node` in a call, and what every call passes there; None when not followed."""
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    function = callee(file, call) if isinstance(call, cst.Call) else None
    if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call) or function is None:
        return None
    known = parameters(file, function)
    position = next((i for i, one in enumerate(call.args) if one is arg), 0)
    name = arg.keyword.value if arg.keyword else known[position].name.value if position < len(known) else ""
    taken = next((p for p in (*known, *function.params.kwonly_params) if p.name.value == name), None)
    calls = calls_of(file, function)
    if taken is None or calls is None or arg.star or not any(one is call for one in calls):
        return None
    passed = [_passed(known, one, name) for one in calls]
    values = [value for value in passed if value is not None]
    return (taken.name, values) if len(values) == len(passed) else None


def _passed(known: list[cst.Param], call: cst.Call, name: str) -> cst.BaseExpression | None:
    """Return what a call passes to a parameter; None when it leaves it out or cannot be read."""
    names = [p.name.value for p in known]
    for position, arg in enumerate(call.args):
        if arg.star:
            return None
        given = arg.keyword.value if arg.keyword else names[position] if position < len(names) else ""
        if given == name:
            return arg.value
    return None


def receivers_of(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """Return what the callers bind when `node` is returned, or their calls where these are used at once.

    None when it is not returned, or some caller or other `return` is not followed.
    """
    element = file.tree.parent(node)
    listed = file.tree.parent(element) if isinstance(element, cst.Element) else None
    position = None
    if isinstance(listed, cst.Tuple):
        position = next(i for i, e in enumerate(listed.elements) if e is element)
    value = node if listed is None else listed
    function = file.tree.enclosing(node, cst.FunctionDef)
    if not isinstance(file.tree.parent(value), cst.Return) or not isinstance(node, cst.Name) or function is None:
        return None
    calls = calls_of(file, function)
    if not calls or not all(_same(file, node, one, position) for one in _returns(file, function)):
        return None
    size = len(listed.elements) if isinstance(listed, cst.Tuple) else 0
    found = [_receiver(file, call, position, size) for call in calls]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


def _returns(file: File, function: cst.FunctionDef) -> Iterator[cst.Return]:
    finder = _Returns()
    function.body.visit(finder)
    return iter(finder.found)


class _Returns(cst.CSTVisitor):
    def __init__(self) -> None:
        self.found: list[cst.Return] = []

    def visit_Return(self, node: cst.Return) -> None:
        self.found.append(node)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False


def _same(file: File, node: cst.Name, other: cst.Return, position: int | None) -> bool:
    """True when a `return` gives the same variable at the same place."""
    value = other.value
    if position is not None:
        fits = isinstance(value, cst.Tuple) and position < len(value.elements)
        value = value.elements[position].value if isinstance(value, cst.Tuple) and fits else None
    return isinstance(value, cst.Name) and value.value == node.value


def _receiver(file: File, call: cst.Call, position: int | None, size: int) -> cst.BaseExpression | None:
    """Return the target of `a = f()`, or that at `position` of `a, b = f()`; the call itself when it is an argument."""
    around = file.tree.parent(call)
    if position is None and isinstance(around, cst.Arg):
        return call
    if not isinstance(around, cst.Assign) or len(around.targets) != 1:
        return None
    target: cst.BaseExpression = around.targets[0].target
    if position is not None:
        plain = isinstance(target, cst.Tuple) and all(isinstance(e, cst.Element) for e in target.elements)
        if not isinstance(target, cst.Tuple) or not plain or len(target.elements) != size:
            return None
        target = target.elements[position].value
    return target if isinstance(target, cst.Name | cst.Attribute) else None
