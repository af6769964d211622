"""What a program feeds in the place of elements of a dataset that computes ids ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf

from rewriter.graph.iterators import GETTERS
from rewriter.pipeline import PipelinePlan

__all__ = ["computed_of", "fed_ahead", "feeds_elements"]


def feeds_elements(pipeline: PipelinePlan, feeds: Iterable[Any]) -> bool:
    """Whether one of these tensors is of an element of which a dataset computes ids."""
    replaced = pipeline.replaced()
    return bool(replaced) and not replaced.isdisjoint(name.partition(":")[0] for one in feeds for name in _names(one))


def fed_ahead(
    graph: tf.Graph, pipeline: PipelinePlan, feeds: Mapping[Any, Any], run: Callable[[Any, Any], Any]
) -> dict[tf.Tensor, Any]:
    """Return what to feed besides: the ids that the graph computes of what is fed, where datasets compute them.

    Where ids need a further part of the element, which is not fed, this raises ValueError.
    """
    if not feeds_elements(pipeline, feeds):
        return {}
    fed = {name for one in feeds for name in _names(one)}
    new: dict[str, list[tf.Tensor]] = {}
    for edit in pipeline.inputs:
        reads = computed_of(graph.get_tensor_by_name(edit.old), fed)
        if not reads.isdisjoint(fed):
            if any(graph.get_tensor_by_name(name).op.type in GETTERS for name in reads - fed):
                pipeline.require_unfed(feeds)
            new.setdefault(edit.old, []).append(graph.get_operation_by_name(edit.use.op).inputs[edit.use.input])
    values = run(list(new), feeds) if new else []
    return {tensor: value for tensors, value in zip(new.values(), values, strict=True) for tensor in tensors}


def _names(fed: Any) -> list[str]:
    return [one if isinstance(one, str) else one.name for one in tf.nest.flatten(fed, expand_composites=True)]


def computed_of(tensor: tf.Tensor, fed: set[str]) -> set[str]:
    """Return the tensors that a tensor is computed of, as far as they are not computed of fed ones."""
    known, left = set[str](), [tensor]
    while left:
        one = left.pop()
        if one.name not in known:
            known.add(one.name)
            left += [] if one.name in fed else one.op.inputs
    return known
