"""What kind of node a class of libcst is, asked once for each class, and which nodes of a kind are inside another.

libcst's own checks of its abstract classes are slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import cast

import libcst as cst

#: Fields of nodes in which only white space, punctuation or operators stand.
_LAYOUT = {
    "asynchronous", "colon", "comma", "dot", "equal", "first_colon", "footer", "header", "lbrace", "lbracket",
    "leading_lines", "lines_after_decorators", "lpar", "operator", "rbrace", "rbracket", "relative", "rpar",
    "second_colon", "semicolon", "trailing_whitespace",
}  # fmt: skip


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return the other fields of a class of nodes; nothing for what is no node."""
    if not issubclass(kind, cst.CSTNode):
        return ()
    return tuple(one.name for one in fields(kind) if one.name not in _LAYOUT and not one.name.startswith("whitespace"))


@cache
def _is_node(kind: type) -> bool:
    return issubclass(kind, cst.CSTNode)


def inside(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the nodes right below `node`, in the order of its fields, but for most of the layout."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        kind: type = type(value)
        if kind is tuple or kind is list:
            yield from (one for one in value if _is_node(one.__class__))
        elif _is_node(kind):
            yield value


@cache
def is_expression(kind: type) -> bool:
    """True for the classes of expressions."""
    return issubclass(kind, cst.BaseExpression)


@cache
def is_statement(kind: type) -> bool:
    """True for the classes of statements, of blocks of them, and of parts that bind names."""
    blocks = cst.BaseStatement | cst.BaseSmallStatement | cst.BaseSuite
    parts = (
        cst.WithItem, cst.AsName, cst.ImportAlias, cst.ExceptHandler, cst.ExceptStarHandler, cst.MatchCase, cst.Finally,
        cst.Else, cst.Decorator,
    )  # fmt: skip
    return issubclass(kind, blocks) or issubclass(kind, parts)


@cache
def is_literal(kind: type) -> bool:
    """True for numbers and texts without parts."""
    return issubclass(kind, cst.BaseNumber | cst.SimpleString | cst.Ellipsis)


@cache
def is_layout(kind: type) -> bool:
    """True for white space, comments and punctuation."""
    layout = (
        cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace, cst.EmptyLine, cst.Comment, cst.Newline, cst.Comma,
        cst.LeftParen, cst.RightParen, cst.LeftSquareBracket, cst.RightSquareBracket, cst.LeftCurlyBrace,
        cst.RightCurlyBrace, cst.Colon, cst.Semicolon, cst.Dot, cst.AssignEqual, cst.BaseBinaryOp, cst.BaseCompOp,
        cst.BaseUnaryOp, cst.BaseBooleanOp, cst.Asynchronous,
    )  # fmt: skip
    return issubclass(kind, layout)


def expressions_in(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Yield the expressions right below `node`, whatever layout is between."""
    pending = list(inside(node))
    while pending:
        one = pending.pop()
        kind = type(one)
        if kind is cst.Arg:
            pending.append(cast(cst.Arg, one).value)
        elif is_expression(kind):
            yield cast(cst.BaseExpression, one)
        elif not is_statement(kind) and not is_layout(kind):
            pending += inside(one)


def is_slice(node: cst.Subscript) -> bool:
    """True for `x[a:b]`, False where a tuple is the key."""
    return any(isinstance(one.slice, cst.Slice) for one in node.slice)
