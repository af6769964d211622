"""Texts as Python's syntax trees, the blocks of their compound statements, and docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import libcst as cst

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
#: An item of a block; the items of `handlers` and `cases` are not statements, but have a body.
Part = ast.stmt | ast.excepthandler | ast.match_case


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a text; an empty one where it is not Python."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module(body=[], type_ignores=[])


def blocks(node: ast.AST) -> Iterator[tuple[str, list[Part]]]:
    """Yield (name of the field, block) for the blocks of a compound statement, a handler or a case."""
    for name in BLOCKS:
        inner = getattr(node, name, None)
        if isinstance(inner, list) and inner:  # the body of a lambda or of `a if b else c` is an expression
            yield name, inner


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the direct child statements of a statement, including those of its handlers and cases."""
    for _, block in blocks(node):
        for inner in block:
            if isinstance(inner, ast.stmt):
                yield inner
            else:
                yield from statements(inner)


def first_line(node: Part) -> int:
    """Return the first line of a part: of its first decorator, if it has one; for a case, of its pattern."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def is_docstring(statement: cst.CSTNode) -> bool:
    """True for a statement that is a string, which documents what it comes first in."""
    return (
        isinstance(statement, cst.SimpleStatementLine)
        and isinstance(statement.body[0], cst.Expr)
        and isinstance(statement.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    )
