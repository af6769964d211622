"""Lookups in which id -1 is invalid: it has no row, is not counted, and reads zeros or the default."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import runtime
from runtime._assertions import checked
from runtime.compat.mx_rec.constants import ASCEND_SPARSE_LOOKUP_UNIQUE_KEYS, INVALID
from runtime.compat.mx_rec.embedding.shared_counters import admitted


def rows_of(table: Any, ids: tf.Tensor, serving_default_value: Any = None, **settings: Any) -> tf.Tensor:
    """Return the rows of ids of any shape: float32, ids.shape + [dim]; `settings` are those of the runtime's lookup.

    Ids that are floats are cut to integers.
    """
    config, is_train = settings.pop("access_and_evict_config", None), settings.pop("is_train", True)
    keys = tf.reshape(tf.cast(ids, tf.int64) if ids.dtype.is_floating else ids, [-1])  # as tf.strings.to_number gives
    keys, config = admitted(keys, config, is_train)
    valid = tf.not_equal(keys, tf.constant(INVALID, keys.dtype))
    shape = tf.stack([tf.size(keys), table.dim])
    default = None if serving_default_value is None else tf.broadcast_to(serving_default_value, shape)
    # A single row for all ids is sent unchanged to the rank that looks up an id.
    as_given = default is None or serving_default_value.shape.rank != 2
    found = runtime.sparse_lookup(
        table,
        tf.boolean_mask(keys, valid),
        is_train=is_train,
        access_and_evict_config=config,
        serving_default_value=serving_default_value if as_given else tf.boolean_mask(default, valid),
        **settings,
    )
    if is_train:
        found = _within_limit(table, found)
        if table.expands:  # older programs read the addresses from here; they are in the collection once anyway
            tf.compat.v1.add_to_collection(ASCEND_SPARSE_LOOKUP_UNIQUE_KEYS, table.expansions[-1][1])
    places = tf.where(valid)
    if default is None:
        rows = tf.scatter_nd(places, found, tf.cast(shape, tf.int64))
    else:
        rows = tf.tensor_scatter_nd_update(default, places, found)
    rows = tf.reshape(rows, tf.concat([tf.shape(ids), [table.dim]], 0))
    rows.set_shape(ids.shape.concatenate([table.dim]))
    return rows


def _within_limit(table: Any, rows: tf.Tensor) -> tf.Tensor:
    """Return the rows, checked to fail if the table has more rows than its limit."""
    limit = table.most_rows
    if limit is None:
        return rows
    with tf.control_dependencies([rows]):
        count = table.count()
    message = (
        f"the table `{table.table_name}` has more rows than its device_vocabulary_size, {limit} on this rank: "
        "increase it, or use init(use_dynamic_expansion=True)"
    )
    with tf.control_dependencies([checked(tf.less_equal(count, limit), message, count)]):
        return tf.identity(rows)
