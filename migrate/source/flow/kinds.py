"""What kind of node a class of libcst is, asked once for each class: its checks of abstract classes are slow."""

from __future__ import annotations

from functools import cache

import libcst as cst


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
