"""Queries on the value flow analysis in terms of TensorFlow symbols."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import cast

import libcst as cst

from migrate.source.flow import (
    Constant,
    Member,
    Order,
    Partial,
    Result,
    Symbol,
    Unknown,
    Value,
    ValueFlow,
    is_from_unseen,
    is_none,
)
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.symbols import canonical
from migrate.source.tensorflow.base.visited import all_reached


def flow_of(file: File) -> ValueFlow:
    """Return the analysis of the program that contains a file."""
    return file.names.flow


def order_of(file: File) -> Order:
    """Return the execution order of the program's code."""
    flow = flow_of(file)
    order = flow.memory.get("order")
    if not isinstance(order, Order):
        order = flow.memory["order"] = Order(flow, flow.trees)
    return order


def known_values(file: File, node: cst.BaseExpression) -> list[Value]:
    """Return the values that an expression may have, except None; empty if some of them are unknown."""
    values = flow_of(file).values(node)
    if any(isinstance(value, Unknown) for value in values):
        return []
    return [value for value in values if not is_none(value)]


def seen_values(file: File, node: cst.BaseExpression) -> list[Value]:
    """Return the values that an expression may have according to the analysed code; others are judged elsewhere."""
    values = flow_of(file).values(node)
    return [value for value in values if not is_from_unseen(value)] or values


def sources(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the defining expressions of all values of `node`: calls, literals, operators, external names.

    A parameter stands for unknown arguments, `node` itself for an entry of an iterable.
    """
    nodes = [source_of(file, value, node) for value in seen_values(file, node)]
    return list(dict.fromkeys(nodes)) or [node]


def makers(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the defining expressions of all values of `node`; empty if some of the values are unknown."""
    known = not any(isinstance(value, Unknown) for value in flow_of(file).values(node))
    return sources(file, node) if known else []


def source_of(file: File, value: Value, node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the expression that creates a value, or else the first expression on its path to `node`."""
    tree = file.tree
    if not isinstance(value, (Symbol, Member, Unknown)) and _is_written(file, value.node):
        return cast(cst.BaseExpression, value.node)
    for step in flow_of(file).path(value, node):
        around = tree.parent(step)
        if not _is_written(file, step):
            continue
        looped = isinstance(around, (cst.For, cst.CompFor)) and around.iter is step
        if looped or isinstance(around, cst.StarredElement) or (isinstance(around, cst.Arg) and around.star):
            return node
        if isinstance(around, cst.Param) or not tree.is_target(step):
            return cast(cst.BaseExpression, step)
    return node


def computed_from(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the defining expressions of the values of `node`; if it is one itself, its operands or arguments."""
    operands: list[cst.BaseExpression] = []
    for value in flow_of(file).values(node):
        while isinstance(value, Member):
            value = value.base  # the value is an entry, an attribute or a method of it
        if isinstance(value.node, cst.AugAssign):
            operands += [value.node.target, value.node.value]
        elif not isinstance(value, Constant) and _is_written(file, value.node):
            expression = cast(cst.BaseExpression, value.node)
            operands += [expression] if expression is not node else parts_of(expression)
    for call in partials(file, node.func) if isinstance(node, cst.Call) else ():
        operands += [arg.value for arg in call.args[1:]]
    return operands


def parts_of(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """Return the expressions directly below `node`; for a call, its arguments."""
    parts: list[cst.BaseExpression] = []
    for child in node.args if isinstance(node, cst.Call) else node.children:
        parts += [child] if isinstance(child, cst.BaseExpression) else parts_of(child)
    return parts


def _is_written(file: File, node: cst.CSTNode | None) -> bool:
    """True for an expression of the source text."""
    return isinstance(node, cst.BaseExpression) and file.tree.parent(node) is not None


def root_of(value: Value) -> Value:
    """Return the external symbol, or unknown value, from which attributes and results led to a value."""
    while isinstance(value, (Member, Result)):
        value = value.base if isinstance(value, Member) else value.callee
    return value


def symbol_of(value: Value) -> str | None:
    """Return the canonical name of a symbol, or of the callee of a result; None for all other values."""
    called = value.callee if isinstance(value, Result) else value
    return canonical(called.name) if isinstance(called, Symbol) else None


def results(file: File, call: cst.Call) -> list[Value]:
    """Return the results of a call of external code, one for each possible callee."""
    return [one for one in flow_of(file).values(call) if isinstance(one, Result) and one.node is call]


def partials(file: File, func: cst.BaseExpression) -> list[cst.Call]:
    """Return the calls of `functools.partial` that may have made a callee: they add arguments to those of its calls."""

    def makers_of(node: cst.BaseExpression) -> list[cst.Call]:
        calls = (value.node for value in flow_of(file).values(node) if isinstance(value, Partial))
        return [call for call in calls if isinstance(call, cst.Call) and call.args]

    return list(all_reached(makers_of(func), lambda call: makers_of(call.args[0].value)))


def is_inherited(value: Value) -> bool:
    """True for an attribute or entry that an object would inherit from an external base if the program did not set it.

    The same holds for entries of builtin functions: reading one fails, so that the program does not do it.
    """
    inner: Value | None = value
    while inner is not None and not isinstance(inner, Symbol):
        value, callee = inner, inner.callee if isinstance(inner, Result) else None
        by_name = isinstance(callee, Member) and callee.name.startswith("__getattr")
        inner = inner.base if isinstance(inner, Member) else callee if by_name else None
    named = inner is not None and (inner.name.startswith("builtins.") or getattr(value, "name", "[]") != "[]")
    return named and value is not inner


def is_of_python(value: Value) -> bool:
    """True for functions of Python and its standard library, and for their results."""
    root = root_of(value)
    return isinstance(root, Symbol) and root.name.split(".")[0] in {*sys.stdlib_module_names, "builtins"}


def is_unseen(value: Value) -> bool:
    """True for values that unanalysed files of the user may create: unknown ones, and symbols of other libraries."""
    root = root_of(value)
    known = not isinstance(root, Symbol) or canonical(root.name) is not None or is_of_python(root)
    return isinstance(root, Unknown) or not known


def symbols_of(values: Iterable[Value]) -> set[str | None]:
    """Return `symbol_of` for several values."""
    return {symbol_of(value) for value in values}
