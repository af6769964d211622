"""Short hands of the runtime tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import runtime


def make_table(name: str = "user", dim: int = 4, initializer: Any = None, **settings: Any) -> runtime.Table:
    """Create a table whose initial values depend on the name only."""
    initializer = initializer or tf.compat.v1.random_normal_initializer(seed=7)
    return runtime.create_table(tf.int64, dim, name, initializer, **settings)


def session() -> tf.compat.v1.Session:
    """Open a session on the default graph and run the init op."""
    opened = tf.compat.v1.Session()
    opened.run(tf.compat.v1.global_variables_initializer())
    return opened


def rows_of(opened: Any, table: runtime.Table, keys: Sequence[int] | np.ndarray) -> np.ndarray:
    """Read rows without inserting any (build before the graph is finalized: adds an op)."""
    return np.asarray(opened.run(runtime.sparse_lookup(table, np.asarray(keys, np.int64), is_train=False)))
