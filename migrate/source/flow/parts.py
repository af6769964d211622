"""The expressions inside another node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import libcst as cst

from migrate.source.flow.kinds import is_expression, is_layout, is_statement
from migrate.source.flow.program import Program
from migrate.source.syntax.node_index import children


def expressions_in(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """Yield the expressions right below `node`, whatever layout is between."""
    pending = list(children(node))
    while pending:
        one = pending.pop()
        kind = type(one)
        if kind is cst.Arg:
            pending.append(cast(cst.Arg, one).value)
        elif is_expression(kind):
            yield cast(cst.BaseExpression, one)
        elif not is_statement(kind) and not is_layout(kind):
            pending += children(one)


def parts_of_slices(program: Program, node: cst.Subscript) -> None:
    """Ask for what stands between the brackets."""
    for element in node.slice:
        for part in expressions_in(element):
            program.value_of(part)


def is_slice(node: cst.Subscript) -> bool:
    """True for `x[a:b]`, False where a tuple is the key."""
    return any(isinstance(one.slice, cst.Slice) for one in node.slice)
