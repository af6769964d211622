"""`one_hot_lookup`: rows as the product of one-hot ids with a matrix gives them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.lookup import id_checks
from runtime.lookup.sparse import sparse_lookup
from runtime.table.table import Table


@_tf_private.as_written
def one_hot_lookup(
    table: Table, ids: Any, depth: Any, is_train: Any = True, name: str | None = None, dense_gradient: bool = False
) -> tf.Tensor:
    """Return `tf.matmul(tf.one_hot(ids, depth), W)`: the row of each id, and zeros for an id outside of [0, depth).

    Args:
        table: a table of this graph.
        ids: int32 or int64 tensor of any rank, or uint8 or int8, which `tf.one_hot` takes, too.
        depth: an int, or an integer scalar tensor.
        is_train: as for `sparse_lookup`. An id outside of the range inserts no row: it looks up the id 0 in vain.
        name: scope of the ops.
        dense_gradient: see `sparse_lookup`.

    Returns:
        float32 of shape ids.shape + [dim].

    Raises:
        ValueError: see `sparse_lookup`.
    """
    id_checks.require_table(table, "table")
    if name is not None:
        _validation.text("name", name)
    with tf.name_scope(name or f"{table.table_name}_one_hot"):
        dtype = ids.dtype if tf.is_tensor(ids) else getattr(ids, "dtype", None)
        wide = tf.cast(ids, tf.int64) if dtype in (tf.uint8, tf.int8) else ids
        keys = id_checks.integers(wide, f"the table `{table.table_name}`")
        inside = (keys >= 0) & (keys < tf.cast(depth, keys.dtype))
        own = tf.where(inside, keys, tf.zeros_like(keys))
        rows = sparse_lookup(table, own, is_train=is_train, dense_gradient=dense_gradient)
        shaped: tf.Tensor = tf.where(inside[..., tf.newaxis], rows, tf.zeros_like(rows))
        return shaped
