"""Removes the summing of equal ids that stock optimizers do before a sparse step; native updates do it themselves."""

from __future__ import annotations

from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.matching import ANY, Mismatch, match, node

UNIQUE = ("Unique", "UniqueV2")
_SUMMED = node("UnsortedSegmentSum", "values", node("|".join(UNIQUE), label="unique"), ANY)


def before_summing(view: GraphView, values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Return the values and indices before `_deduplicate_indexed_slices`; unchanged if it was not applied."""
    found = match(view, values.op, _SUMMED)
    if isinstance(found, Mismatch) or indices != Tensor(found.ops["unique"], 0):
        return values, indices
    if view.inputs(values.op)[1] != Tensor(found.ops["unique"], 1):
        return values, indices
    return found.tensors["values"], view.inputs(found.ops["unique"])[0]
