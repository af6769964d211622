"""Removes the summing of equal ids that stock optimizers do before a sparse step; native updates do it themselves."""

from __future__ import annotations

from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.matching import ANY, Mismatch, match, node

UNIQUE = ("Unique", "UniqueV2")
_SUMMED = node("UnsortedSegmentSum", "values", node("|".join(UNIQUE), label="unique"), ANY)


def before_summing(view: GraphView, values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Return the values and indices before `_deduplicate_indexed_slices`; unchanged if it was not applied."""
    matched = match(view, values.op, _SUMMED)
    if isinstance(matched, Mismatch) or indices != Tensor(matched.ops["unique"], 0):
        return values, indices
    if view.inputs(values.op)[1] != Tensor(matched.ops["unique"], 1):
        return values, indices
    return matched.tensors["values"], view.inputs(matched.ops["unique"])[0]
