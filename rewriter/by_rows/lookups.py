"""Lookups of a tensor that is computed row by row of variables."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from rewriter.by_rows.place import NotByRows
from rewriter.by_rows.rows_at import RowsAt, copied, variable_of
from rewriter.patterns.pooled import PRODUCT, SEGMENTS

GATHERS = ("GatherV2", "Gather", "GatherNd", *SEGMENTS, PRODUCT)


@dataclass(frozen=True)
class Rows:
    """The result of a lookup by rows, and the variables whose rows it reads."""

    result: tf.Tensor
    variables: frozenset[str]


def rows_of_lookup(op: tf.Operation) -> Rows | None:
    """Build what an op looks up from rows of the variables alone; None if it reads a variable itself, or none.

    Raises:
        NotByRows: what it looks up is not computed row by row.
    """
    number = 3 if op.type == PRODUCT else 0
    table = op.inputs[number]
    if not table.dtype.is_floating or table.shape.rank is None or variable_of(table) is not None:
        return None
    ids = _ids(op)
    place = RowsAt(ids)
    rows = place.at(table)
    if not place.variables:
        return None
    result = _looked_up(op, ids, rows)
    place.let_wait(result.op, op)
    return Rows(result, frozenset(place.variables))


def _ids(op: tf.Operation) -> tf.Tensor:
    if op.type == PRODUCT:
        if op.get_attr("adjoint_a") or op.get_attr("adjoint_b"):
            raise NotByRows(op)
        return op.inputs[0][:, 1]
    if op.type == "GatherNd":
        if op.inputs[1].shape[-1:] != [1]:
            raise NotByRows(op)
        return tf.squeeze(op.inputs[1], -1)
    if op.type == "GatherV2" and (tf.get_static_value(op.inputs[2]) != 0 or op.get_attr("batch_dims")):
        raise NotByRows(op)
    return op.inputs[1]


def _looked_up(op: tf.Operation, ids: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Return the result of a lookup whose ids, one by one, have these rows."""
    if op.type in SEGMENTS:
        numbers = tf.range(tf.size(ids, ids.dtype))
        return copied(op, [rows, numbers, *op.inputs[2:]]).outputs[0]
    if op.type == PRODUCT:
        numbers = tf.range(tf.shape(ids, tf.int64)[0])
        shape = tf.stack([op.inputs[2][0], tf.shape(ids, tf.int64)[0]])
        indices = tf.cast(tf.stack([tf.cast(op.inputs[0][:, 0], tf.int64), numbers], 1), op.inputs[0].dtype)
        return copied(op, [indices, op.inputs[1], shape, rows]).outputs[0]
    shape = tf.concat([tf.shape(ids), tf.constant(rows.shape[1:].as_list(), tf.int32)], 0)
    return tf.ensure_shape(tf.reshape(rows, shape), op.outputs[0].shape)
