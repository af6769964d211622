"""What stands inside a statement: its blocks, whatever kind it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
#: What stands in a block; `handlers` and `cases` hold what has a body of its own, and is no statement.
Part = ast.stmt | ast.excepthandler | ast.match_case


def blocks(node: ast.AST) -> Iterator[tuple[str, list[Part]]]:
    """Yield the blocks of a statement, a handler or a case, each with the name of its field: none of a simple one."""
    for name in BLOCKS:
        inner = getattr(node, name, None)
        if isinstance(inner, list) and inner:  # the body of a lambda or of `a if b else c` is an expression
            yield name, inner


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements right below another, those of its handlers and cases included."""
    for _, block in blocks(node):
        for inner in block:
            if isinstance(inner, ast.stmt):
                yield inner
            else:
                yield from statements(inner)


def first_line(node: Part) -> int:
    """Return the line on which a part begins: that of its first decorator, if it has any; of a case, of its pattern."""
    if isinstance(node, ast.match_case):
        return node.pattern.lineno
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
