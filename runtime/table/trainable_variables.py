"""The two lists of variables that a training script splits its gradients by."""

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
    """Return the trainable variables of the current graph and the anchors of its tables, or those of `var_list`.

    A `var_list` has variables and tables, or the anchors of tables, also in lists of their own; each half keeps its
    order. The variables of counted tables, which stock optimizers train, are among the dense ones.

    Raises:
        RuntimeError: called in eager mode without a `var_list`.
    """
    if var_list is not None:
        return _apart(tf.nest.flatten(list(var_list)))
    with tf.init_scope():
        if tf.executing_eagerly():
            raise RuntimeError(
                "get_dense_and_sparse_variable lists the variables of a v1 graph, and eager mode keeps no such list: "
                "take model.trainable_variables, and table.variable of each table"
            )
    # That of a table in a variable's place is among the trainable ones, as the variable was.
    dense, _ = _apart(tf.compat.v1.trainable_variables())
    return dense, [table.variable for table in tables() if not table.reads_each_step]


def _apart(given: Iterable[Any]) -> tuple[list[tf.Variable], list[tf.Variable]]:
    """Tell tables from variables, each of which may be given by itself or by its anchor."""
    dense: list[tf.Variable] = []
    sparse: list[tf.Variable] = []
    for one in given:
        variable = one.variable if isinstance(one, Table) else one
        trained = isinstance(variable, Anchor) and not variable.table.reads_each_step
        (sparse if trained else dense).append(variable)
    return dense, sparse
