"""What programs see of checkpoints in which variables are tables: the variables and slots, and no parts of tables."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rewriter._tf_private_files import Stored
from runtime.checkpoint.bundle import is_read_as_stored, read_as_stored
from runtime.checkpoint.row_layout import Column, columns_of, read_column, restored_column
from runtime.table.clusters.servers import ROWS


class Checkpoints:
    """Shows readers and warm starts the variables of the original model."""

    def tensor(self, stored: Stored, name: str) -> Any:
        """Return a tensor; of a variable or slot in a table, its rows."""
        plain = is_read_as_stored() or (stored.has(name) and not stored.has(f"{name}{ROWS[0]}"))
        column = None if plain else _columns(stored).get(name)
        return stored.tensor(name) if column is None else read_column(name, column, stored.tensor, grown=True)

    def shapes(self, stored: Stored) -> dict[str, list[int]]:
        """Return the shapes of all tensors; variables and slots are there in the place of tables."""
        shapes = stored.shapes()
        if is_read_as_stored():
            return shapes
        columns = _columns(stored)
        return _without_parts(shapes, columns) | {name: one.shape(shapes) for name, one in columns.items()}

    def types(self, stored: Stored) -> dict[str, tf.DType]:
        """Return the types of these tensors."""
        if is_read_as_stored():
            return stored.types()
        columns = _columns(stored)
        return _without_parts(stored.types(), columns) | dict.fromkeys(columns, tf.float32)

    def has(self, stored: Stored, name: str) -> bool:
        """Whether it is one of these tensors."""
        there = stored.has(name)
        return there if is_read_as_stored() or (there and not name.endswith(ROWS)) else name in self.shapes(stored)

    def restored(self, path: str, name: str) -> tf.Tensor | None:
        """Return ops that read the rows of a variable or slot; None if it is in no table of the checkpoint."""
        with read_as_stored():
            stored = opened(path)
            column = _columns(stored).get(name) if stored is not None else None
            return restored_column(path, name, column, stored.shapes()) if stored is not None and column else None


def opened(path: str) -> Stored | None:
    """Return what a checkpoint holds; None if there is none, which TensorFlow says in its own words."""
    try:
        reader = tf.compat.v1.train.NewCheckpointReader(path)
    except (tf.errors.OpError, ValueError):
        return None
    return Stored(
        reader.get_tensor, reader.get_variable_to_shape_map, reader.get_variable_to_dtype_map, reader.has_tensor
    )


def _columns(stored: Stored) -> dict[str, Column]:
    return columns_of(stored.shapes(), stored.tensor)


def _without_parts(tensors: dict[str, Any], columns: dict[str, Column]) -> dict[str, Any]:
    parts = {f"{column.table}{part}" for column in columns.values() for part in ROWS}
    return {name: one for name, one in tensors.items() if name not in parts}
