"""Splits variables into dense ones and anchors of tables, as training programs need them for gradients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from runtime.table.anchor import Anchor
from runtime.table.create import tables
from runtime.table.table import Table


def get_dense_and_sparse_variable(
    var_list: Iterable[Any] | None = None,
) -> tuple[list[tf.Variable], list[tf.Variable]]:
    """Return the trainable variables of the current graph and anchors of its trainable tables, or those in `var_list`.

    `var_list` may contain variables, tables and anchors, also in nested lists; both results keep its order. Variables
    of counted tables, which stock optimizers train, are among the dense ones.

    Raises:
        RuntimeError: called in eager mode without a `var_list`.
        ValueError: a table of `var_list` is not trainable.
    """
    if var_list is not None:
        return _apart(tf.nest.flatten(list(var_list)))
    with tf.init_scope():
        if tf.executing_eagerly():
            raise RuntimeError(
                "get_dense_and_sparse_variable lists the variables of a v1 graph, and eager mode has no such list: "
                "use model.trainable_variables, and table.variable of each table"
            )
    # The anchor of a table that replaced a variable is trainable, like the variable was.
    dense, _ = _apart(tf.compat.v1.trainable_variables())
    return dense, [table.variable for table in tables() if table.trainable and not table.reads_each_step]


def _apart(variables: Iterable[Any]) -> tuple[list[tf.Variable], list[tf.Variable]]:
    """Separate tables, given directly or by their anchors, from variables.

    Raises:
        ValueError: a table is not trainable, or a value is neither a variable nor a table.
    """
    dense: list[tf.Variable] = []
    sparse: list[tf.Variable] = []
    for item in variables:
        variable = item.variable if isinstance(item, Table) else item
        if isinstance(variable, str | int | float):
            raise ValueError(f"`var_list` holds {variable!r}: give variables, and tables that create_table returned")
        trained = isinstance(variable, Anchor) and not variable.table.reads_each_step
        if trained and not variable.table.trainable:
            raise ValueError(
                f"the table `{variable.table.table_name}` was made with trainable=False and cannot be trained: leave "
                "it out of the list, or make it trainable"
            )
        (sparse if trained else dense).append(variable)
    return dense, sparse
