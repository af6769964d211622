"""Comparisons of ids that do not tell one row of a variable from another, and bounds that let all rows pass."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from rewriter.graph.view import GraphView, Use
from rewriter.plan.vocabularies import number_of

_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "GreaterEqual": operator.ge,
    "Greater": operator.gt,
    "Less": operator.lt,
    "LessEqual": operator.le,
}
_EQUAL: dict[str, Callable[[Any, Any], bool]] = {"Equal": operator.eq, "NotEqual": operator.ne}
#: Ops that bound ids, with the number by which they bound nothing.
BOUNDS = {"Minimum": 2**63 - 1, "Maximum": -(2**63)}


def tells_none_apart(view: GraphView, use: Use, rows: int, others: Sequence[int]) -> bool:
    """Whether an op compares ids with a number, and the answer is the same for all ids of `rows` and for `others`."""
    kind = view.type(use.op)
    compare = (_ORDERED | _EQUAL).get(kind)
    number = None if compare is None else number_of(view, view.inputs(use.op)[1 - use.input])
    if compare is None or number is None or (kind in _EQUAL and 0 <= number < rows):
        return False
    answers = {compare(row, number) if use.input == 0 else compare(number, row) for row in (0, rows - 1, *others)}
    return len(answers) == 1


def passes_all(kind: str, number: int, rows: int) -> bool:
    """Whether all ids of `rows` pass an op of `BOUNDS` by this number."""
    return number >= rows - 1 if kind == "Minimum" else number <= 0
