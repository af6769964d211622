"""Tables that are handed on: returned by a function to its callers, or passed to one that looks them up.

A function is followed only when every use of its name is a call that is seen, here or in the files judged with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.frontends.tensorflow.args import literal
from migrate.source.frontends.tensorflow.called import (
    argument_of,
    callee,
    calls_of,
    parameters,
    property_reads,
    twins,
)
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


@dataclass
class Received:
    """Where a value goes that a function returns."""

    names: list[cst.BaseExpression] = field(default_factory=list)  #: that callers bind to it
    uses: list[cst.BaseExpression] = field(default_factory=list)  #: calls, or reads of a property, used at once
    others: list[cst.BaseExpression] = field(default_factory=list)  #: what else they may get


def receivers_of(file: File, node: cst.BaseExpression) -> Received | None:
    """Return what the callers bind when `node` is returned, or their calls where these are used at once.

    Another `return` may give something else: then each call shows which of them it gets, or may get any. None when
    `node` is not returned, or some caller is not followed.
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
    found = Received()
    others = [one for one in returns(function) if not _same(node, one, place)]
    read = property_reads(file, function) if place is None else None
    calls: Sequence[cst.BaseExpression] | None = read if read is not None else (made := calls_of(file, function))
    if not calls:
        return None
    if others:
        told = calls_that_get(file, function, given, others, made or []) if place is not None else None
        else_given = _given_by(others, place) if told is None else []
        if else_given is None:
            return None
        found.others, calls = else_given, calls if told is None else told
    overriding = _given_by([one for twin in twins(file, function) for one in returns(twin)], place)
    if overriding is None:
        return None
    found.others += overriding
    for call in calls:
        target = _receiver(file, call, place)
        if target is None:
            return None
        (found.uses if target is call else found.names).append(target)
    return found


def _given_by(others: Sequence[cst.Return], place: tuple[int, int] | None) -> list[cst.BaseExpression] | None:
    """Return what other `return` statements give at a place, but None; nothing for one that has no such place."""
    found = []
    for one in others:
        value = _in_place(one, place)
        if value is None and one.value is not None:
            return None
        found += [value] if value is not None and literal(value) is not None else []
    return found


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
    value = _in_place(other, place)
    same = isinstance(value, cst.Name) and isinstance(node, cst.Name) and value.value == node.value
    return value is node or same


def _in_place(given: cst.Return, place: tuple[int, int] | None) -> cst.BaseExpression | None:
    """Return what a `return` gives, or the part of it at a place of as many."""
    if place is None or given.value is None:
        return given.value
    elements = given.value.elements if isinstance(given.value, cst.Tuple | cst.List) else ()
    plain = len(elements) == place[1] and all(isinstance(one, cst.Element) for one in elements)
    return elements[place[0]].value if plain else None


def _receiver(file: File, call: cst.BaseExpression, place: tuple[int, int] | None) -> cst.BaseExpression | None:
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
