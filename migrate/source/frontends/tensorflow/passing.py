"""Tables that are handed on: returned by a function to its callers, or passed to one that looks them up.

A function is followed only when every use of its name is a call that is seen, here or in the files judged with it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.values import scope_of_name
from migrate.source.frontends.tensorflow.variable_scopes import call_sites


def parameter_of(file: File, node: cst.BaseExpression) -> tuple[cst.Name, list[cst.BaseExpression]] | None:
    """Return the parameter that takes `node` in a call, and what every call passes there; None when not followed."""
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    function = file.tree.named(call.func) if isinstance(call, cst.Call) else None
    if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call) or not isinstance(function, cst.FunctionDef):
        return None
    position = next((i for i, one in enumerate(call.args) if one is arg), 0)
    known = function.params.params
    name = arg.keyword.value if arg.keyword else known[position].name.value if position < len(known) else ""
    taken = next((p for p in (*known, *function.params.kwonly_params) if p.name.value == name), None)
    calls = _calls(file, function)
    if taken is None or calls is None or arg.star:
        return None
    passed = [_passed(function, one, name) for one in calls]
    values = [value for value in passed if value is not None]
    return (taken.name, values) if len(values) == len(passed) else None


def _passed(function: cst.FunctionDef, call: cst.Call, name: str) -> cst.BaseExpression | None:
    """Return what a call passes to a parameter; None when it leaves it out or cannot be read."""
    names = [p.name.value for p in function.params.params]
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
    calls = _calls(file, function)
    if not calls or not all(_same(file, node, one, position) for one in _returns(file, function)):
        return None
    size = len(listed.elements) if isinstance(listed, cst.Tuple) else 0
    found = [_receiver(file, call, position, size) for call in calls]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else None


def _calls(file: File, function: cst.FunctionDef) -> list[cst.Call] | None:
    """Return all calls of a function at the top level of a module; None when it may be called in other ways."""
    if function.decorators or file.tree.module_of(function) is not file.tree.parent(function):
        return None
    calls = call_sites(file, function)
    callees = {id(call.func) for call in calls}
    scope = file.tree.scope(function)
    own = [use for use in file.tree.names.get(function.name.value, ()) if use is not function.name]
    own = [use for use in own if file.tree.module_of(use) is file.tree.module_of(function)]
    uses: list[cst.BaseExpression] = [use for use in own if scope_of_name(file.tree, use) is scope]
    uses += file.tree.elsewhere(function.name, scope) if scope is not None else []
    return calls if all(id(use) in callees for use in uses) else None


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
