"""Lookups in loops of a `tf.function`, which AutoGraph makes of `for` and `while` over tensors."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private_tapes
from runtime.lookup.all_rows import all_rows
from runtime.lookup.sparse import sparse_lookup
from runtime.table.table import Table

__all__ = ["looked_up"]


def looked_up(table: Table, rows: int, ids: Any, trains: Any = True, name: str | None = None) -> Any:
    """Return the rows of ids: where a gradient leaves a loop, from the matrix of the ids below `rows`, read before it.

    There the gradient of a variable is dense, too: all rows take the step of the optimizer.
    """
    around = _tf_private_tapes.around_loops() if trains is not False and table.trainable else None
    if around is None:
        return sparse_lookup(table, ids, is_train=trains, name=name)
    with around.as_default():
        matrix = all_rows(table, rows, trainable=True)
    if isinstance(ids, tf.RaggedTensor):
        return ids.with_flat_values(tf.gather(matrix, ids.flat_values))
    return tf.gather(matrix, ids, name=name)
