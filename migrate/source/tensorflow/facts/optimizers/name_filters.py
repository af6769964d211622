"""Lists of variables that are chosen by their names: `[v for v in tf.trainable_variables() if "gen" in v.name]`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import libcst as cst

from migrate.source.tensorflow.base.rule_kinds import File

#: Methods of strings that a condition may call.
METHODS = {"startswith", "endswith", "split", "rsplit", "strip", "lower", "upper", "find", "count", "partition"}
COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class Chosen:
    """A list of those variables of another list whose names meet conditions."""

    listed: cst.BaseExpression  #: the list they are chosen from
    variable: str  #: the name of the loop's variable
    tests: tuple[str, ...]  #: the conditions as source text, all of which must hold


def chosen(file: File, node: cst.CSTNode | None) -> Chosen | None:
    """Return what a comprehension chooses; None for another expression, and for one that computes its members."""
    if not isinstance(node, cst.ListComp) or not isinstance(node.elt, cst.Name):
        return None
    loop = node.for_in
    same = isinstance(loop.target, cst.Name) and loop.target.value == node.elt.value
    if not same or not loop.ifs or loop.inner_for_in is not None or loop.asynchronous is not None:
        return None
    return Chosen(loop.iter, node.elt.value, tuple(file.tree.source(one.test) for one in loop.ifs))


def takes(one: Chosen, names: Iterable[str]) -> bool | None:
    """Return whether a variable is chosen, if it has one of these names, `scope/w:0`; None if that is not known."""
    try:
        tests = [ast.parse(text.strip(), mode="eval").body for text in one.tests]
        answers = {all(bool(_value(test, one.variable, name)) for test in tests) for name in names}
    except (_NotUnderstood, SyntaxError, TypeError, ValueError, LookupError):
        return None
    return answers.pop() if len(answers) == 1 else None


class _NotUnderstood(Exception):
    pass


def _value(node: ast.expr, variable: str, name: str) -> Any:
    """Return the value of an expression of literals and of the name of the variable."""

    def value(one: ast.expr) -> Any:
        return _value(one, variable, name)

    match node:
        case ast.Constant(value=constant):
            return constant
        case ast.Attribute(value=ast.Name(id=found), attr="name") if found == variable:
            return name
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=found), attr="op"), attr="name") if found == variable:
            return name.partition(":")[0]
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return tuple(map(value, elements)) if isinstance(node, ast.Tuple) else [*map(value, elements)]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not value(operand)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return -number
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(bool(value(one)) for one in parts)
        case ast.BoolOp(op=ast.Or(), values=parts):
            return any(bool(value(one)) for one in parts)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            return COMPARED[type(op)](value(left), value(right))
        case ast.Subscript(value=whole, slice=index) if not isinstance(index, ast.Slice):
            return value(whole)[value(index)]
        case ast.Call(func=ast.Attribute(value=text, attr=method), args=given, keywords=[]) if method in METHODS:
            made = value(text)
            if isinstance(made, str):
                return getattr(made, method)(*map(value, given))
    raise _NotUnderstood
