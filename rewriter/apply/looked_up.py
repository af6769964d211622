"""What a lookup of a table is given and gives in a live graph, where the old one had other ids or other rows."""

from __future__ import annotations

import tensorflow as tf

from rewriter.facts import Lookup, Table

__all__ = ["keys_of", "rows_of_variable"]


def keys_of(lookup: Lookup, ids: tf.Tensor) -> tf.Tensor:
    """Return the ids of rows that a lookup reads, by the ids that the old one is given."""
    keys = tf.squeeze(ids, -1) if lookup.nested else ids
    if lookup.window is None:
        return keys
    shift, other = (
        tf.constant(one, keys.dtype) for one in (lookup.window.row - lookup.window.first, lookup.window.row)
    )
    return tf.where(_inside(lookup, keys), keys + shift, other)


def rows_of_variable(table: Table, lookup: Lookup, rows: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Return looked-up rows of the table, [*keys, dim], as the variable's lookup gives them, [*keys, *row]."""
    keys = tf.squeeze(ids, -1) if lookup.nested else ids
    if not table.is_matrix:
        shaped = tf.reshape(rows, tf.concat([tf.shape(keys), tf.constant(table.row, tf.int32)], 0))
        rows = tf.ensure_shape(shaped, keys.shape.concatenate(table.row))
    if lookup.window is None:
        return rows
    ones = tf.ones([len(table.row)], tf.int32)
    inside = tf.reshape(_inside(lookup, keys), tf.concat([tf.shape(keys), ones], 0))
    return tf.ensure_shape(tf.where(inside, rows, tf.zeros([], rows.dtype)), rows.shape)


def _inside(lookup: Lookup, keys: tf.Tensor) -> tf.Tensor:
    assert lookup.window is not None
    first, last = (tf.constant(one, keys.dtype) for one in (lookup.window.first, lookup.window.last))
    return (keys >= first) & (keys < last)
