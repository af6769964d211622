"""Tables that are handed on: returned by a function to its callers, or passed to one that looks them up.

A function is followed only when every use of its name is a call that is seen, here or in the files judged with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.frontends.tensorflow.args import literal
from migrate.source.frontends.tensorflow.called import argument_of, callee, calls_of, parameters
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.returned import calls_that_get


def parameter_of(file: File, node: cst.BaseExpression) -> tuple[cst.Name, list[cst.BaseExpression]] | None:
    """Return the parameter that takes `node`, and all that it may be given; None when that is not followed.

    It takes the argument of a call, or its default in the calls that leave it out.
    """
    arg = file.tree.parent(node)
    if isinstance(arg, cst.Param):
        return _by_default(file, arg)
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
    values = given_for(known, taken, calls)
    return (taken.name, values) if values is not None else None


def _by_default(file: File, taken: cst.Param) -> tuple[cst.Name, list[cst.BaseExpression]] | None:
    function = file.tree.enclosing(taken, cst.FunctionDef)
    if function is None or not any(one is taken for one in (*_of(function), *function.params.kwonly_params)):
        return None  # of a lambda
    calls = calls_of(file, function)
    values = given_for(parameters(file, function), taken, calls) if calls else None
    return (taken.name, values) if values is not None else None


def _of(function: cst.FunctionDef) -> tuple[cst.Param, ...]:
    return (*function.params.posonly_params, *function.params.params)


def given_for(
    known: Sequence[cst.Param], taken: cst.Param, calls: Sequence[cst.Call]
) -> list[cst.BaseExpression] | None:
    """Return what calls give for a parameter other than None, or its default; None when that is not seen of one."""
    passed = [argument_of(known, one, taken.name.value) for one in calls]
    values = [value for value in passed if value is not None]
    if len(values) < len(passed):
        if taken.default is None or any(arg.star for call in calls for arg in call.args):
            return None
        values.append(taken.default)
    return [value for value in values if literal(value) is not None]


def receivers_of(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """Return what the callers bind when `node` is returned, or their calls where these are used at once.

    Another `return` may give something else, when each call shows which of them it gets. None when `node` is not
    returned, or some caller or other `return` is not followed.
    """
    element = file.tree.parent(node)
    listed = file.tree.parent(element) if isinstance(element, cst.Element) else None
    place = None
    if isinstance(listed, cst.Tuple | cst.List):
        place = next(i for i, e in enumerate(listed.elements) if e is element), len(listed.elements)
    given = file.tree.parent(node if listed is None else listed)
    function = file.tree.enclosing(node, cst.FunctionDef)
    if not isinstance(given, cst.Return) or function is None or (listed is not None and place is None):
        return None
    calls = calls_of(file, function)
    others = [one for one in returns(function) if not _same(node, one, place)]
    if calls and others:
        calls = calls_that_get(file, function, given, others, calls) if place is not None else None
    elif not calls:
        return None
    found = [_receiver(file, call, place) for call in calls or ()]
    known = [one for one in found if one is not None]
    return known if calls is not None and len(known) == len(found) else None


def returns(function: cst.FunctionDef) -> Iterator[cst.Return]:
    """Yield the `return` statements of a function, without those of the functions inside it."""
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


def _same(node: cst.BaseExpression, other: cst.Return, place: tuple[int, int] | None) -> bool:
    """True when a `return` gives the same variable at the same place."""
    value = other.value
    if place is not None:
        elements = value.elements if isinstance(value, cst.Tuple | cst.List) else ()
        value = elements[place[0]].value if len(elements) == place[1] else None
    same = isinstance(value, cst.Name) and isinstance(node, cst.Name) and value.value == node.value
    return value is node or same


def _receiver(file: File, call: cst.Call, place: tuple[int, int] | None) -> cst.BaseExpression | None:
    """Return the target of `a = f()`, or that at its place of `a, b = f()`; the call itself when it is used at once."""
    around = file.tree.parent(call)
    if not isinstance(around, cst.Assign) or len(around.targets) != 1:
        return call if place is None and not isinstance(around, cst.Expr) else None
    target: cst.BaseExpression = around.targets[0].target
    if place is not None:
        elements = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
        if len(elements) != place[1] or not all(isinstance(e, cst.Element) for e in elements):
            return None
        target = elements[place[0]].value
    return target if isinstance(target, cst.Name | cst.Attribute) else call if place is None else None
