"""A table that begins with given rows, and one whose rows are set."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _tf_private, _validation
from runtime._assertions import checked
from runtime.ranks import placements
from runtime.table import arguments as table_arguments
from runtime.table.arguments import TableArguments
from runtime.table.create import filled
from runtime.table.table import Table
from runtime.table.variable_places import checked_place


@_tf_private.as_written
def table_of_rows(
    rows: Any, name: str, placement: str = "distributed", trainable: bool = True, in_place_of: str | None = None
) -> Table:
    """Create a table of the keys 0 to n - 1, whose first rows are those of a matrix [n, dim]; rows of others are zeros.

    In a v1 graph the init op fills it, and `rows` may be a placeholder. With several ranks all give the whole matrix.
    `trainable=False` keeps the rows as they began; `in_place_of` is that of `create_table`.

    Raises:
        ValueError: `rows` is not a matrix of known width, or a name or placement is not one of `create_table`.
    """
    with tf.init_scope() if tf.executing_eagerly() else tf.name_scope("rows"):
        if isinstance(rows, np.ndarray):
            rows = rows.astype(np.float32, copy=False)  # a graph would hold a matrix of float64 as such
        values = tf.convert_to_tensor(rows)
        if not (values.dtype.is_floating or values.dtype.is_integer):
            raise ValueError(f"`rows` of the table `{name}` are {values.dtype.name}: they must be a matrix of numbers")
        values = tf.cast(values, tf.float32)
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
        trainable=table_arguments.checked_trainable(trainable),
        in_place_of=checked_place(in_place_of),
    )

    return filled(arguments, lambda: values)


@_tf_private.as_written
def set_rows(table: Table, rows: Any, size: int | None = None) -> tf.Operation:
    """Set the rows of the keys 0 to `size` - 1, as `assign` of a variable [size, dim] does; slots are kept.

    In a v1 graph, return an op that does it, in the graph of the table.

    Args:
        table: a table.
        rows: float32 [size, dim]; an array of another type is cast.
        size: how many rows the table's variable would have; None: the `device_vocabulary_size` of the table.

    Raises:
        ValueError: `rows` have another shape or type.
        tf.errors.InvalidArgumentError: when the op runs, and the number of rows is another.
    """
    _validation.kind("table", table, Table, "a table created by create_table")
    count = table.device_vocabulary_size if size is None else _validation.integer("size", size, 1)
    here = tf.compat.v1.get_default_graph()
    elsewhere = table.graph is not None and here is not table.graph and not here.building_function
    with table.graph.as_default() if elsewhere else contextlib.nullcontext(), table.scope("set_rows"):
        owner = f"of rows for the table `{table.table_name}`"
        if isinstance(rows, np.ndarray):
            rows = rows.astype(np.float32, copy=False)
        values = _validation.tensor("rows", owner, rows, tf.float32)
        wanted = [count, table.dim]
        if not values.shape.is_compatible_with(wanted):
            raise ValueError(f"`rows` {owner} have shape {values.shape}: they must be {wanted}")
        if not values.shape.is_fully_defined():
            message = f"`rows` {owner} must be {wanted}"
            same = tf.reduce_all(tf.equal(tf.shape(values), wanted))
            with tf.control_dependencies([checked(same, message, tf.shape(values))]):
                values = tf.reshape(values, wanted)
        return table.import_rows(tf.range(count, dtype=tf.int64), values)
