"""Iterators extended by ids: which outputs of which op give an element, and what the dataset computes."""

from __future__ import annotations

from rewriter.graph.iterators import GETTERS
from rewriter.graph.view import GraphView, Tensor
from rewriter.pipeline import PipelinePlan

__all__ = ["elements", "fillers"]

_MAKER = "MakeIterator"


def elements(view: GraphView, pipeline: PipelinePlan | None) -> dict[Tensor, Tensor]:
    """Return a map from tensors of elements, or tensors that datasets compute now, to those of the rewritten graph.

    An op that read an element before reads its echo: an iterator over the single element that the new op returned.
    """
    found: dict[Tensor, Tensor] = {}
    for maker in view.of_type(_MAKER):
        dataset, iterator = view.inputs(maker)
        if view.type(dataset.op) != "TensorDataset":
            continue
        for use in view.users(iterator.op):
            pairs = enumerate(view.inputs(dataset.op)) if view.type(use.op) in GETTERS else ()
            found |= {Tensor(use.op, i): one for i, one in pairs if view.type(one.op) in GETTERS}
    for edit in pipeline.inputs if pipeline else ():
        getter, _, number = edit.by.rpartition("/")
        if Tensor(getter) in found and number.isdigit():
            op, _, output = edit.old.partition(":")
            found[Tensor(op, int(output))] = Tensor(found[Tensor(getter)].op, int(number))
    return found


def fillers(view: GraphView) -> list[str]:
    """Return the op that attaches a dataset to each iterator (the first of several), except those of echoes."""
    found: dict[Tensor, str] = {}
    for maker in view.of_type(_MAKER):
        dataset, iterator = view.inputs(maker)
        if not any(view.type(op) in GETTERS for op in view.ancestors([dataset])):
            found.setdefault(iterator, maker)
    return list(found.values())
