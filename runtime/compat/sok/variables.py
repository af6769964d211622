"""SOK's functions on variables: separate them, read and write this rank's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.compat.sok import placing
from runtime.compat.sok.dynamic import DynamicVariable
from runtime.compat.sok.static import SharedVariable


def is_shared(variable: Any) -> bool:
    """Whether ranks share the rows of a variable; also true of the runtime's tables."""
    inner = variable if isinstance(variable, tf.Variable) else getattr(variable, "value", variable)
    return isinstance(inner, SharedVariable) or hasattr(inner, "table")


def filter_variables(vars: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return SOK's variables and the others, each in the given order."""
    return [one for one in vars if is_shared(one)], [one for one in vars if not is_shared(one)]


def split_embedding_variable_from_others(variables: Any) -> tuple[list[Any], list[Any]]:
    """Return the variables of SOK's layers and the others: lists as in SOK, whose documentation says tuples.

    Raises:
        ValueError: `variables` is neither a list nor a tuple.
    """
    if not isinstance(variables, (list, tuple)):
        raise ValueError(f"`variables` must be a list or tuple: got {type(variables).__name__}")
    return filter_variables(variables)


def export(var: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the ids int64 [n] and the rows [n, dim] that this rank holds.

    Raises:
        TypeError: it is not a variable of SOK.
    """
    if isinstance(var, DynamicVariable):
        return var.table.snapshot()[:2]
    if not isinstance(var, SharedVariable):
        raise TypeError(f"sok.export needs a variable of SOK: got {type(var).__name__}")
    return placing.global_ids(var.shape[0], var.placement), tf.identity(var)


def assign(var: Any, indices: Any, values: Any) -> Any:
    """Set the rows of ids; each rank takes the rows that it holds, so all may be given all rows.

    Raises:
        TypeError: it is not a variable of SOK.
    """
    if isinstance(var, DynamicVariable):
        return var.table.import_rows(indices, values)
    if not isinstance(var, SharedVariable):
        raise TypeError(f"sok.assign needs a variable of SOK: got {type(var).__name__}")
    ids, rows = tf.cast(tf.convert_to_tensor(indices), tf.int64), tf.convert_to_tensor(values, var.dtype)
    mine = placing.lie_here(ids, var.placement)
    kept = tf.boolean_mask(rows, mine)
    places = placing.local_rows(tf.boolean_mask(ids, mine), var.placement)
    return var.scatter_update(tf.IndexedSlices(kept, places))
