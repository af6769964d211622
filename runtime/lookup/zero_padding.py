"""Tables with a row of zeros for padding, as `tf.concat([tf.zeros([1, D]), W[1:]], 0)` of a variable has one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.lookup.sparse import sparse_lookup
from runtime.table.table import Table

#: Where the row of zeros is: instead of row 0, before row 0, or behind the last row.
PLACES = ("first", "before", "last")


@dataclass(frozen=True)
class ZeroPadded:
    """A table with an id that stands for padding: it reads zeros, and has no gradient."""

    table: Table
    place: str = "first"


def zero_padded(table: Table | ZeroPadded, place: str = "first") -> ZeroPadded:
    """Return the table with a row of zeros; `padded_lookup` takes both.

    Args:
        table: a table. One whose row 0 is zeros already may be given again with the place "first".
        place: "first", id 0 reads zeros instead of row 0; "before", id 0 reads zeros and id i row i - 1; "last", the
            id `device_vocabulary_size` of the table reads zeros.

    Raises:
        ValueError: it is no table, it is padded already, or the place is another.
    """
    if place not in PLACES:
        raise ValueError(f"`place` is {place!r}: use one of {', '.join(map(repr, PLACES))}")
    if isinstance(table, ZeroPadded):
        if table.place == place == "first":
            return table
        raise ValueError(f"the table `{table.table.table_name}` has a row of zeros already: pad it once")
    if not isinstance(table, Table):
        raise ValueError(f"`table` must be a table: got {type(table).__name__}; create one by create_table")
    return ZeroPadded(table, place)


@_tf_private.as_written
def padded_lookup(
    table: Table | ZeroPadded,
    ids: Any,
    is_train: Any = True,
    name: str | None = None,
    modify_graph: bool | None = False,
    access_and_evict_config: dict[str, Any] | None = None,
    dense_gradient: bool = False,
) -> tf.Tensor | tf.RaggedTensor:
    """Return the rows of `ids`, as `sparse_lookup` does; of a padded table, zeros for the padding, without gradient.

    Args:
        table: a table, or what `zero_padded` made of one.
        ids: int32 or int64 tensor of any rank, or a RaggedTensor. The id of the padding inserts no row, but for the
            row 0 that it hides in a table padded at the place "first".
        is_train: as the arguments that follow, see `sparse_lookup`.
        name: scope of the ops.
        modify_graph: allows GraphModifierHook to let the dataset compute the ids.
        access_and_evict_config: thresholds of admission and eviction.
        dense_gradient: see `sparse_lookup`; for the place "first", of which the concatenation has the gradient of a
            matrix.

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
        options["dense_gradient"] = dense_gradient
        return tf.ragged.map_flat_values(lambda flat: padded_lookup(table, flat, name=name, **options), ids)
    ids = tf.convert_to_tensor(ids)
    if table.place != "first":
        return _beside(table, ids, lambda own: sparse_lookup(table.table, own, name=name, **options))
    rows = sparse_lookup(table.table, ids, name=name, dense_gradient=dense_gradient, **options)
    return tf.where(tf.equal(ids, 0)[..., tf.newaxis], tf.zeros([], rows.dtype), rows)


def _beside(padded: ZeroPadded, ids: tf.Tensor, look_up: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """Return the rows of ids of any shape where the zeros are no row of the table: only the others are looked up."""
    with tf.device("/device:CPU:0"):
        padding = tf.constant(padded.table.device_vocabulary_size if padded.place == "last" else 0, ids.dtype)
        flat = tf.reshape(ids, [-1])
        places = tf.where(tf.not_equal(flat, padding))
        own = tf.gather_nd(flat, places)
        rows = look_up(own - 1 if padded.place == "before" else own)
        shape = tf.stack([tf.size(flat, tf.int64), rows.shape[-1]])
        shaped = tf.reshape(tf.scatter_nd(places, rows, shape), tf.concat([tf.shape(ids), [rows.shape[-1]]], 0))
        shaped.set_shape([*ids.shape, rows.shape[-1]] if ids.shape.rank is not None else None)
        return shaped
