"""What ops ask of ids whose answer does not tell one row of a variable from another, and bounds that let all pass."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from rewriter.graph.view import GraphView, Use
from rewriter.plan.vocabularies import number_of

__all__ = ["BOUNDS", "bound_of", "common_answer"]

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "GreaterEqual": operator.ge,
    "Greater": operator.gt,
    "Less": operator.lt,
    "LessEqual": operator.le,
}
_EQUAL: dict[str, Callable[[Any, Any], bool]] = {"Equal": operator.eq, "NotEqual": operator.ne}
#: Ops that bound ids, with the number by which they bound nothing.
BOUNDS = {"Minimum": 2**63 - 1, "Maximum": -(2**63)}


def common_answer(view: GraphView, use: Use, rows: int, others: Sequence[int]) -> bool | None:
    """Return whether the answer of a comparison, which is the same for all ids of `rows`, is that for `others`, too.

    None if it is no comparison with a number, or its answer tells rows apart.
    """
    kind = view.type(use.op)
    compare = (_ORDERED | _EQUAL).get(kind)
    number = None if compare is None else number_of(view, view.inputs(use.op)[1 - use.input])
    if compare is None or number is None or (kind in _EQUAL and 0 <= number < rows):
        return None

    def answer(row: int) -> bool:
        return compare(row, number) if use.input == 0 else compare(number, row)

    if answer(0) != answer(rows - 1):
        return None
    return all(answer(row) == answer(0) for row in others)


def bound_of(view: GraphView, use: Use, rows: int) -> Use | None:
    """Return the input by which an op of `BOUNDS` bounds ids, if all ids of `rows` pass it."""
    kind = view.type(use.op)
    if kind not in BOUNDS:
        return None
    bound = Use(use.op, 1 - use.input)
    number = number_of(view, view.inputs(bound.op)[bound.input])
    if number is None or (number < rows - 1 if kind == "Minimum" else number > 0):
        return None
    return bound
