"""Tables of which row 0 reads as zeros, as `tf.concat([tf.zeros([1, D]), W[1:]], 0)` of a variable does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.lookup.sparse import sparse_lookup
from runtime.table.table import Table

__all__ = ["ZeroPadded", "padded_lookup", "zero_padded"]


@dataclass(frozen=True)
class ZeroPadded:
    """A table whose id 0 stands for padding: it reads zeros, and has no gradient."""

    table: Table


def zero_padded(table: Table | ZeroPadded) -> ZeroPadded:
    """Return the table as one whose id 0 reads zeros; `padded_lookup` takes both.

    Raises:
        ValueError: it is no table.
    """
    if isinstance(table, ZeroPadded):
        return table
    if not isinstance(table, Table):
        raise ValueError(f"`table` must be a table: got {type(table).__name__}; create one by create_table")
    return ZeroPadded(table)


@_tf_private.as_written
def padded_lookup(
    table: Table | ZeroPadded,
    ids: Any,
    is_train: Any = True,
    name: str | None = None,
    modify_graph: bool | None = False,
    access_and_evict_config: dict[str, Any] | None = None,
) -> tf.Tensor | tf.RaggedTensor:
    """Return the rows of `ids`, as `sparse_lookup` does; of a padded table, zeros for id 0, without gradient.

    Args:
        table: a table, or what `zero_padded` made of one.
        ids: int32 or int64 tensor of any rank, or a RaggedTensor. Id 0 inserts its row, which only lookups in the
            table itself read.
        is_train: as the arguments that follow, see `sparse_lookup`.
        name: scope of the ops.
        modify_graph: allows GraphModifierHook to let the dataset compute the ids.
        access_and_evict_config: thresholds of admission and eviction.

    Returns:
        float32 of shape ids.shape + [dim]; ragged for ragged ids.

    Raises:
        ValueError: as `sparse_lookup`.
    """
    options: dict[str, Any] = {
        "is_train": is_train,
        "modify_graph": modify_graph,
        "access_and_evict_config": access_and_evict_config,
    }
    if not isinstance(table, ZeroPadded):
        return sparse_lookup(table, ids, name=name, **options)
    if isinstance(ids, tf.RaggedTensor):
        return tf.ragged.map_flat_values(lambda flat: padded_lookup(table, flat, name=name, **options), ids)
    ids = tf.convert_to_tensor(ids)
    rows = sparse_lookup(table.table, ids, name=name, **options)
    return tf.where(tf.not_equal(ids, 0)[..., tf.newaxis], rows, tf.zeros([], rows.dtype))
