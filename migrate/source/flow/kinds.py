"""Fast, cached classification of libcst node classes, and iteration over the children of a node.

libcst's own `isinstance` checks against its abstract classes are slow; here each class is checked once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import cast

import libcst as cst

#: Fields of nodes that contain only white space, punctuation or operators.
_LAYOUT = {
    "asynchronous", "colon", "comma", "dot", "equal", "first_colon", "footer", "header", "lbrace", "lbracket",
    "leading_lines", "lines_after_decorators", "lpar", "operator", "rbrace", "rbracket", "relative", "rpar",
    "second_colon", "semicolon", "trailing_whitespace",
}  # fmt: skip


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return the field names of a node class that are not layout; empty for any other class."""
    if not issubclass(kind, cst.CSTNode):
        return ()
    return tuple(one.name for one in fields(kind) if one.name not in _LAYOUT and not one.name.startswith("whitespace"))


@cache
def _is_node(kind: type) -> bool:
    return issubclass(kind, cst.CSTNode)


def inside(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the direct children of `node` in field order, without most of the layout."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        kind: type = type(value)
        if kind is tuple or kind is list:
            yield from (one for one in value if _is_node(one.__class__))
        elif _is_node(kind):
            yield value


@cache
def is_expression(kind: type) -> bool:
    """True if the class is an expression."""
    return issubclass(kind, cst.BaseExpression)


@cache
def is_statement(kind: type) -> bool:
    """True if the class is a statement, a block of statements, or a part of a statement that binds names."""
    blocks = cst.BaseStatement | cst.BaseSmallStatement | cst.BaseSuite
    parts = (
        cst.WithItem, cst.AsName, cst.ImportAlias, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase, cst.Finally,
        cst.Else, cst.Decorator,
    )  # fmt: skip
    return issubclass(kind, blocks) or issubclass(kind, parts)


@cache
def is_literal(kind: type) -> bool:
    """True for number literals, string literals without parts, and `...`."""
    return issubclass(kind, (cst.BaseNumber, cst.SimpleString, cst.Ellipsis))


@cache
def is_layout(kind: type) -> bool:
    """True for white space, comments, punctuation and operators."""
    layout = (
        cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace, cst.EmptyLine, cst.Comment, cst.Newline, cst.Comma,
        cst.LeftParen, cst.RightParen, cst.LeftSquareBracket, cst.RightSquareBracket, cst.LeftCurlyBrace,
        cst.RightCurlyBrace, cst.Colon, cst.Semicolon, cst.Dot, cst.AssignEqual, cst.BaseBinaryOp, cst.BaseCompOp,
        cst.BaseUnaryOp, cst.BaseBooleanOp, cst.Asynchronous,
    )  # fmt: skip
    return issubclass(kind, layout)


def expressions_in(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Yield the outermost expressions below `node`, however many non-expression nodes are in between."""
    pending = list(inside(node))
    while pending:
        part = pending.pop()
        kind = type(part)
        if kind is cst.Arg:
            pending.append(cast(cst.Arg, part).value)
        elif is_expression(kind):
            yield cast(cst.BaseExpression, part)
        elif not is_statement(kind) and not is_layout(kind):
            pending += inside(part)


def is_slice(node: cst.Subscript) -> bool:
    """True for `x[a:b]`; False if a tuple is the key."""
    return any(isinstance(one.slice, cst.Slice) for one in node.slice)
