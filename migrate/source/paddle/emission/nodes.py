"""Parts of syntax trees that the rewriter makes or asks about."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.paddle.emission import templates
from migrate.source.paddle.ops import registry

_NOT_REACHED = 'raise NotImplementedError("not converted: the given configuration does not come here")'


def function(dotted: str) -> bool:
    """Whether a lower-case name of Paddle is a function of `runtime.nn`, not a module."""
    return dotted in {"paddle.create_parameter", "paddle.no_grad"} or registry.dtype(dotted) is not None


def text(node: cst.BaseExpression) -> str:
    """Return a dotted name as text; empty for other expressions."""
    if isinstance(node, cst.Attribute):
        return f"{text(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def of_paddle(name: cst.BaseExpression) -> bool:
    """Return whether a name that is imported is of Paddle."""
    return cst.Module([]).code_for_node(name).partition(".")[0] == "paddle"


def last_without_comma(names: Sequence[cst.ImportAlias]) -> list[cst.ImportAlias]:
    """Return imported names, the last one without a comma."""
    return [*names[:-1], names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)]


def raising(body: cst.BaseSuite) -> cst.BaseSuite:
    """Return a block that raises an error in place of one that was not executed."""
    statement = cst.parse_statement(_NOT_REACHED)
    if not isinstance(body, cst.IndentedBlock):
        return cst.IndentedBlock([statement])
    lines = getattr(body.body[0], "leading_lines", ())
    return body.with_changes(body=[statement.with_changes(leading_lines=lines)], footer=[])


def argument(call: cst.Call, name: str) -> str:
    """Return the text of an argument that is given by its name, or comes first."""
    named = (arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name)
    return cst.Module([]).code_for_node(next(named, call.args[0]).value)


def with_argument(call: cst.Call, name: str, value: str) -> cst.Call:
    """Return a call with one more keyword."""
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    args = [*call.args]
    if args and not isinstance(args[-1].comma, cst.Comma):
        args[-1] = args[-1].with_changes(comma=templates.comma())
    return call.with_changes(args=[*args, cst.Arg(cst.parse_expression(value), cst.Name(name), tight)])


def index(node: cst.Subscript) -> cst.BaseExpression:
    """Return what stands in the brackets as an expression, with `slice(a, b)` for `a:b`."""
    parts = [part(element.slice) for element in node.slice]
    if len(parts) == 1 and not isinstance(node.slice[0].comma, cst.Comma):
        return parts[0]
    last = len(parts) - 1
    elements = [
        cst.Element(part, templates.comma() if i < last else cst.MaybeSentinel.DEFAULT) for i, part in enumerate(parts)
    ]
    return cst.Tuple(elements, [cst.LeftParen()], [cst.RightParen()])


def part(part: cst.BaseSlice) -> cst.BaseExpression:
    if isinstance(part, cst.Index):
        return part.value
    assert isinstance(part, cst.Slice)
    given = [part.lower, part.upper] + ([part.step] if part.step is not None else [])
    return cst.Call(cst.Name("slice"), [cst.Arg(item if item is not None else cst.Name("None")) for item in given])
