"""A table that begins with given rows."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.ranks import placements
from runtime.table import arguments as table_arguments
from runtime.table.arguments import TableArguments
from runtime.table.create import made
from runtime.table.table import Table

__all__ = ["table_of_rows"]


@_tf_private.as_written
def table_of_rows(rows: Any, name: str, placement: str = "distributed") -> Table:
    """Create a table of the keys 0 to n - 1, whose first rows are those of a matrix [n, dim]; rows of others are zeros.

    In a v1 graph the init op fills it, and `rows` may be a placeholder. With several ranks all give the whole matrix.

    Raises:
        ValueError: `rows` is not a matrix of known width, or a name or placement is not one of `create_table`.
    """
    with tf.init_scope() if tf.executing_eagerly() else tf.name_scope("rows"):
        values = tf.cast(tf.convert_to_tensor(rows), tf.float32)
    if values.shape.rank != 2 or values.shape[1] is None:
        raise ValueError(f"`rows` of the table `{name}` have shape {values.shape}: they must be [n, dim], of known dim")
    arguments = TableArguments(
        key_dtype=tf.int64,
        dim=int(values.shape[1]),
        name=table_arguments.table_name(name),
        emb_initializer=tf.zeros_initializer(),
        device_vocabulary_size=max(1, int(values.shape[0] or 1)),
        is_save=True,
        init_param=1.0,
        placement=placements.check_placement(placement),
    )

    def held() -> tuple[tf.Tensor, tf.Tensor]:
        return placements.held_rows(tf.range(tf.shape(values, tf.int64)[0]), values, arguments.placement)

    if not tf.executing_eagerly():
        kind: Any = functools.partial(Table, first_rows=held)
        return made(arguments, kind)
    table = made(arguments)
    table.import_rows(*held())
    return table
