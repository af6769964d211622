"""A table driven through its raw ops in a v1 graph, and the update ops with fixed hyper-parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.native import ops

v1 = tf.compat.v1

RATE, EPSILON, BETA1, BETA2, ACCUMULATOR = 0.1, 1e-3, 0.9, 0.99, 0.25


class RawTable:
    """One table of a graph; calls add an op and run it in `session`."""

    def __init__(self, graph: tf.Graph, name: str = "user", dim: int = 2, initializer: str = "", **attrs: Any) -> None:
        self.graph, self.dim = graph, dim
        with graph.as_default():
            text = initializer or f"{dim}:normal:0.0:1.0"
            attrs = {"seed": 7, "reserve": 10, "instance": name} | attrs
            self.handle = ops().rec_table_handle(table_name=name, dim=dim, initializer=text, **attrs)
            self.anchor = tf.zeros([0, max(dim, 0)])
        self.session = v1.Session(graph=graph)

    def run(self, op: str, *inputs: Any, **attrs: Any) -> Any:
        """Run ops().<op>(handle, *inputs) in the table's session."""
        with self.graph.as_default():
            return self.session.run(getattr(ops(), op)(self.handle, *inputs, **attrs))

    def read(self, keys: Any, dtype: tf.DType = tf.int64) -> NDArray[Any]:
        """Look up without inserting: float [*keys.shape, dim]."""
        return self._lookup("rec_lookup", keys, dtype)

    def insert(self, keys: Any, dtype: tf.DType = tf.int64) -> NDArray[Any]:
        """Look up, inserting unseen keys: float [*keys.shape, dim]."""
        return self._lookup("rec_lookup_or_insert", keys, dtype)

    def _lookup(self, op: str, keys: Any, dtype: tf.DType) -> NDArray[Any]:
        with self.graph.as_default():
            return np.asarray(self.run(op, self.anchor, tf.constant(keys, dtype), []))

    def size(self) -> int:
        """Return the number of rows."""
        return int(self.run("rec_table_size"))


def update(table: RawTable, rule: str, keys: Any, grads: Any, step: int = 1) -> None:
    """Run one update op."""
    keys = np.asarray(keys, np.int64)
    grads = np.asarray(grads, np.float32)
    powers = (BETA1**step, BETA2**step)
    hyper, starts = {
        "sgd": ([RATE, 0.0], []),
        "adagrad": ([RATE, EPSILON], [ACCUMULATOR]),
        "lazy_adam": ([RATE, *powers, BETA1, BETA2, EPSILON], [0.0, 0.0]),
    }[rule]
    table.run("rec_apply", keys, grads, np.asarray(hyper, np.float32), optimizer=rule, starts=starts)
