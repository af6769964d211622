"""Finds the ids of a FeatureSpec in the graph, for lookups without a `batch`.

`get_asc_insert_func` adds an op with a number to the function of its `map`. For each op that reads elements, its
datasets are searched for that op; the graph's state then says which component of the element has the ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import tensorflow as tf

from runtime import _tf_private
from runtime.compat.mx_rec.features.feature_spec import FeatureSpec
from runtime.compat.mx_rec.state import state_of

_NAME = "mx_rec_sent_"
_GETTERS = ("IteratorGetNext", "IteratorGetNextSync")
_MAKERS = ("MakeIterator",)


def marked(value: tf.Tensor, number: int) -> tf.Tensor:
    """Return `value` through an op with the number of an insertion."""
    with tf.name_scope(""):
        return tf.identity(value, name=f"{_NAME}{number}")


def ids_of(spec: FeatureSpec, is_training: bool) -> tf.Tensor | None:
    """Return the ids of a FeatureSpec as the current graph reads them; None if no dataset sends them."""
    graph = tf.compat.v1.get_default_graph()
    places = state_of(graph).places
    for op in graph.get_operations():
        if op.type in _GETTERS:
            for number in _insertions(op):
                place = places.get(number, {}).get((spec, is_training))
                if place is not None:
                    return op.outputs[place]
    return None


def getters_behind(tensors: list[tf.Tensor]) -> list[tf.Operation]:
    """Return the ops that read the elements from which these tensors are computed."""
    known: dict[str, tf.Operation] = {}
    pending = [tensor.op for tensor in tensors]
    while pending:
        op = pending.pop()
        if op.name not in known:
            known[op.name] = op
            if op.type not in _GETTERS:
                pending += [tensor.op for tensor in op.inputs]
    return [op for op in known.values() if op.type in _GETTERS]


def makers_of(getter: tf.Operation) -> list[tf.Operation]:
    """Return the ops that initialize the iterator of an op that reads elements; none for a one-shot iterator.

    If the graph modifier lets the iterator repeat elements of another one, that one's initializers are returned.
    """
    makers: list[tf.Operation] = []
    for op in getter.inputs[0].consumers():
        if op.type in _MAKERS:
            repeated = getters_behind([op.inputs[0]])
            makers += [maker for one in repeated for maker in makers_of(one)] if repeated else [op]
    return makers


def _insertions(getter: tf.Operation) -> Iterator[int]:
    pending = [getter.inputs[0].op, *(op.inputs[0].op for op in makers_of(getter))]
    known: set[str] = set()
    while pending:
        op = pending.pop()
        if op.name in known:
            continue
        known.add(op.name)
        for node in _tf_private.nodes_called(op):
            match = re.fullmatch(rf"{_NAME}(\d+)", node.name)
            if match:
                yield int(match[1])
        pending += [tensor.op for tensor in op.inputs]
