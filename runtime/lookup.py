"""`sparse_lookup`: ids of any shape to rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _checks, native, ordering
from runtime.table import Table


def sparse_lookup(
    hashtable: Table,
    ids: Any,
    send_count: int | None = None,
    is_train: Any = True,
    name: str | None = None,
    modify_graph: bool | None = False,
    batch: dict[Any, Any] | None = None,
    access_and_evict_config: dict[str, Any] | None = None,
    is_grad: bool = True,
    serving_default_value: Any = None,
    **kwargs: Any,
) -> tf.Tensor:
    """Return the rows of `ids`: float32 of shape ids.shape + [dim], no pooling.

    Args:
        hashtable: a table of this graph.
        ids: int32 or int64 tensor of any rank (a list or an array will do).
        send_count: accepted; there is no exchange between ranks whose size it would bound.
        is_train: a bool, or a bool scalar tensor. True inserts unseen ids; False reads their initial rows and inserts
            nothing.
        name: of the scope that the ops get.
        modify_graph: permits GraphModifierHook to move the ids; the result is the same either way.
        batch: accepted; ids bring their own shape.
        is_grad: False cuts the gradient.
        kwargs: `dim=None` of old scripts is swallowed.

    Raises:
        ValueError: an argument of a wrong type or range, or of a feature that is not there yet.
    """
    _check_arguments(hashtable, send_count, name, modify_graph, batch, is_grad, kwargs)
    if access_and_evict_config is not None:
        raise _checks.unsupported("access_and_evict_config", "leave it out, every key is admitted and kept")
    if serving_default_value is not None:
        raise _checks.unsupported("serving_default_value", "leave it out, an unseen id reads its initial row")
    with tf.name_scope(name or f"{hashtable.table_name}_lookup"), tf.device("/device:CPU:0"):
        keys = _keys(ids, hashtable)
        rows = _rows(hashtable, keys, is_train)
        rows.set_shape(keys.shape.concatenate([hashtable.dim]))
        return rows if is_grad else tf.stop_gradient(rows)


def _rows(table: Table, keys: tf.Tensor, is_train: Any) -> tf.Tensor:
    ops = native.ops()
    if isinstance(is_train, (bool, np.bool_)):
        return _recorded(table, keys, ops.rec_lookup_or_insert if is_train else ops.rec_lookup)
    if (
        not isinstance(is_train, (tf.Tensor, tf.Variable))
        or is_train.dtype != tf.bool
        or is_train.shape.rank not in (0, None)
    ):
        raise ValueError(
            f"Invalid parameter type of para `is_train`: got {is_train!r}, must be a bool or a bool scalar tensor"
        )
    return tf.cond(
        is_train,
        lambda: _recorded(table, keys, ops.rec_lookup_or_insert),
        lambda: _recorded(table, keys, ops.rec_lookup),
    )


def _recorded(table: Table, keys: tf.Tensor, op: Callable[..., tf.Tensor]) -> tf.Tensor:
    rows = op(table.handle, table.variable.value(), keys)
    if rows.graph is table.graph:
        ordering.lookup_added(rows.op, table.updates)
        table.lookups.append(rows.op)
    return rows


def _keys(ids: Any, table: Table) -> tf.Tensor:
    if isinstance(ids, tf.SparseTensor):
        raise ValueError(
            f"the ids of the table `{table.table_name}` are a SparseTensor: look up `ids.values`, or make them "
            "dense with tf.sparse.to_dense first"
        )
    if isinstance(ids, tf.RaggedTensor):
        raise ValueError(
            f"the ids of the table `{table.table_name}` are ragged: look up `ids.flat_values` and re-wrap the rows"
        )
    try:
        keys = tf.convert_to_tensor(ids)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Invalid parameter type of para `ids`: got {ids!r}, must be an int32 or int64 tensor"
        ) from error
    if keys.dtype not in (tf.int32, tf.int64):
        raise ValueError(
            f"the ids of the table `{table.table_name}` are {keys.dtype.name}: cast them with tf.cast(ids, tf.int64)"
            + ("" if keys.dtype != tf.string else " (strings: tf.strings.to_hash_bucket_fast)")
        )
    return keys


def _check_arguments(
    table: Any, send_count: Any, name: Any, modify_graph: Any, batch: Any, is_grad: Any, kwargs: dict[str, Any]
) -> None:
    _checks.kind("hashtable", table, Table, "a table made by create_table")
    with tf.init_scope():
        if tf.compat.v1.get_default_graph() is not table.graph:
            raise ValueError(
                f"the table `{table.table_name}` belongs to another graph: create it in the graph that looks it up"
            )
    if send_count is not None:
        _checks.integer("send_count", send_count, 1)
    if name is not None:
        _checks.text("name", name)
    if modify_graph is not None:
        _checks.boolean("modify_graph", modify_graph)
    if batch is not None:
        _checks.kind("batch", batch, dict, "a dict or None")
    _checks.boolean("is_grad", is_grad)
    unknown = sorted(key for key, value in kwargs.items() if key != "dim" or value is not None)
    if unknown:
        raise ValueError(f"sparse_lookup does not know the argument `{unknown[0]}`: remove it")
