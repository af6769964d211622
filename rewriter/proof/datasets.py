"""Iterators that were extended by ids: which outputs of which op give an element, and what its dataset computes."""

from __future__ import annotations

from rewriter.graph.view import GraphView, Tensor
from rewriter.pipeline import PipelinePlan

__all__ = ["GETTERS", "elements", "fillers"]

#: Types of the ops that read an element of an iterator.
GETTERS = ("IteratorGetNext", "IteratorGetNextSync")
_MAKER = "MakeIterator"


def elements(view: GraphView, pipeline: PipelinePlan | None) -> dict[Tensor, Tensor]:
    """Return what a rewritten graph reads instead of elements, and of what datasets compute, by the old tensor.

    An op that read an element before reads the echo of it: an iterator over the one element that the new op gave.
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
    """Return what gives each iterator its dataset, of several the first; not what echoes an element."""
    found: dict[Tensor, str] = {}
    for maker in view.of_type(_MAKER):
        dataset, iterator = view.inputs(maker)
        if not any(view.type(op) in GETTERS for op in view.ancestors([dataset])):
            found.setdefault(iterator, maker)
    return list(found.values())
