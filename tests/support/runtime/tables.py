"""Short hands of the runtime tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import runtime


def _squares(rows: Any) -> Any:
    return tf.reduce_sum(rows**2)


def make_table(name: str = "user", dim: int = 4, initializer: Any = None, **settings: Any) -> runtime.Table:
    """Create a table whose initial values depend on the name only."""
    initializer = initializer or tf.compat.v1.random_normal_initializer(seed=7)
    return runtime.create_table(tf.int64, dim, name, initializer, **settings)


def read(table: runtime.Table, keys: Any) -> np.ndarray:
    """Read rows eagerly, without inserting any."""
    return np.asarray(runtime.sparse_lookup(table, keys, is_train=False))


def toward(targets: Any) -> Callable[[Any], Any]:
    """Return the loss that is half the squared distance of rows to their targets."""
    return lambda rows: 0.5 * tf.reduce_sum((rows - targets) ** 2)


def step(table: runtime.Table, optimizer: Any, keys: Any, loss: Callable[[Any], Any] = _squares) -> Any:
    """Take a step eagerly by the loss of the rows of some keys, of their squares if none is given; return it."""
    with tf.GradientTape() as tape:
        value = loss(runtime.sparse_lookup(table, keys))
    optimizer.apply_gradients([(tape.gradient(value, table.variable), table.variable)])
    return value


def session() -> tf.compat.v1.Session:
    """Open a session on the default graph and run the init op."""
    opened = tf.compat.v1.Session()
    opened.run(tf.compat.v1.global_variables_initializer())
    return opened


def rows_of(opened: Any, table: runtime.Table, keys: Sequence[int] | np.ndarray) -> np.ndarray:
    """Read rows without inserting any (build before the graph is finalized: adds an op)."""
    return np.asarray(opened.run(runtime.sparse_lookup(table, np.asarray(keys, np.int64), is_train=False)))
