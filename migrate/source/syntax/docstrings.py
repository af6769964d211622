"""Which statements are docstrings."""

from __future__ import annotations

import libcst as cst


def is_docstring(statement: cst.CSTNode) -> bool:
    """True for a statement that is a string, which documents what it comes first in."""
    return (
        isinstance(statement, cst.SimpleStatementLine)
        and isinstance(statement.body[0], cst.Expr)
        and isinstance(statement.body[0].value, cst.SimpleString | cst.ConcatenatedString)
    )
