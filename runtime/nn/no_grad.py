"""`no_grad`: what is computed inside passes no gradient on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

_COLLECTION = "runtime/nn/no_grad"


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """Make all that is computed in the block constant for `gradients` and for the optimizers of `runtime.nn`.

    A v1 graph has no such mode: the tensors of the block are remembered in the graph. `tf.gradients` itself needs them
    as `stop_gradients=nn.stopped()`.
    """
    graph = tf.compat.v1.get_default_graph()
    before = len(graph.get_operations())
    try:
        yield
    finally:
        for operation in graph.get_operations()[before:]:
            for tensor in operation.outputs:
                graph.add_to_collection(_COLLECTION, tensor)


def stopped() -> list[tf.Tensor]:
    """Return the tensors of the current graph that were computed under `no_grad`."""
    tensors: list[tf.Tensor] = tf.compat.v1.get_collection(_COLLECTION)
    return tensors
