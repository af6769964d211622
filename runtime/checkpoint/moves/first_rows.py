"""What ids that a table never saw would read, computed by the engine from the table's seed and initializer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import native
from runtime.checkpoint.bundle import CheckpointError
from runtime.checkpoint.meta_layout import layout_of


def initializers_of(path: str) -> dict[str, str]:
    """Return the initializer of each table in the MetaGraph that a Saver wrote beside the checkpoint `path`."""
    file = Path(path + ".meta")
    if not file.is_file():
        return {}
    meta = tf.compat.v1.MetaGraphDef.FromString(file.read_bytes())
    nodes = [node for node in meta.graph_def.node if node.op == "RecTableHandle"]
    return {node.attr["table_name"].s.decode(): node.attr["initializer"].s.decode() for node in nodes}


class FirstRows:
    """The initial rows of one table."""

    def __init__(self, path: str, table: str, meta: NDArray[np.int64], count: int) -> None:
        """Find the initializer of a table whose metadata is `meta`.

        Raises:
            CheckpointError: it is not known; `count` is how many rows are missing.
        """
        initializer = initializers_of(path).get(table)
        if initializer is None:
            raise CheckpointError(
                f"{path} has no row for {count} ids of `{table}`, and their initial values are not known "
                f"without {path}.meta: put that file, which the Saver wrote, beside the checkpoint"
            )
        self._attributes: dict[str, Any] = {
            "table_name": table,
            "dim": int(meta[2]),
            "initializer": initializer,
            "options": f"values={layout_of(meta).value_dtype.name}",
        }
        self._meta = meta

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the rows of ids [n], float32 [n, dim]."""
        dim, slots = int(self._meta[2]), int(self._meta[3])
        ops = native.ops()
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            handle = ops.rec_table_handle(**self._attributes)
            empty = (tf.zeros([0], tf.int64), tf.zeros([0, dim]), tf.zeros([0, slots * dim]))
            with tf.control_dependencies([ops.rec_table_import(handle, *empty, tf.constant(self._meta))]):
                rows: NDArray[np.float32] = session.run(
                    ops.rec_lookup(handle, tf.zeros([0, dim]), tf.constant(ids), [])
                )
        return rows
