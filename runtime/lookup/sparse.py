"""`sparse_lookup`: ids of any shape to rows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.embedding_variable.counted_table import CountedTable
from runtime.lookup import counted, id_checks, on_device
from runtime.lookup.serving_default import Default
from runtime.lookup.whole_table import taken_by_all_rows, wants_dense_gradient
from runtime.policy import admission
from runtime.ranks.fused_exchange import Request, handles_of, rows_of_all
from runtime.table.addresses import ID_OFFSET, LOCAL_EMB
from runtime.table.admission_rules import AdmissionRules
from runtime.table.clusters.served import served_rows
from runtime.table.table import Table


@_tf_private.as_written
def sparse_lookup(
    hashtable: Table,
    ids: Any,
    *,
    is_train: Any = True,
    name: str | None = None,
    modify_graph: bool | None = False,
    access_and_evict_config: dict[str, Any] | None = None,
    is_grad: bool = True,
    serving_default_value: Any = None,
    dense_gradient: bool = False,
) -> tf.Tensor | tf.RaggedTensor:
    """Return the rows of `ids`: float32 of shape ids.shape + [dim], without pooling; ragged for ragged ids.

    Args:
        hashtable: a table of this graph.
        ids: int32 or int64 tensor of any rank (also a list or an array), or a RaggedTensor.
        is_train: a bool, or a bool scalar tensor. True inserts new ids; False reads their initial rows and inserts
            nothing.
        name: scope of the ops.
        modify_graph: allows GraphModifierHook to let the dataset compute the ids; the result does not change.
        access_and_evict_config: `access_threshold`, `eviction_threshold`, `faae_coefficient` (default 1), and this
            runtime's own `access_probability`, `bloom_filter` and `timestamp`. A key gets a row once its count reaches
            `access_threshold` (each occurrence, this batch included, counts `faae_coefficient`), or at each count with
            `access_probability`. Until then, and in evaluation without a
            row, it reads zeros or `serving_default_value`, and its gradient is dropped. All lookups of a table must
            have the same thresholds; a lookup for evaluation may omit them after another lookup.
        is_grad: False stops the gradient.
        serving_default_value: what an id without a row reads if `is_train` is False, instead of its initial row; its
            shape broadcasts to [number of ids, dim].
        dense_gradient: True gives the table the gradient that a matrix has: every row takes the step, as optimizers
            such as Momentum, RMSProp and FTRL move all rows of a variable that is multiplied as a whole.

    Raises:
        ValueError: an argument has a wrong type or range, thresholds differ from those of another lookup of the table,
            or there is an `eviction_threshold` but no timestamp; or the table cannot have a dense gradient.
    """
    id_checks.require_table(hashtable, "hashtable")
    if name is not None:
        _validation.text("name", name)
    dense = wants_dense_gradient(hashtable, dense_gradient)
    if isinstance(hashtable, CountedTable):
        _refuse_options(hashtable, access_and_evict_config, serving_default_value)
        return _counted_rows(hashtable, ids, _validation.boolean("is_grad", is_grad), name)
    rules = admission.rules_for(hashtable, access_and_evict_config, is_train)
    trains = id_checks.with_gradient([hashtable], is_grad)
    scope = tf.name_scope(name or f"{hashtable.table_name}_lookup")
    with id_checks.movable([hashtable], modify_graph), scope, tf.device("/device:CPU:0"):
        keys = dense_keys(ids.flat_values if isinstance(ids, tf.RaggedTensor) else ids, hashtable)
        default = None if serving_default_value is None else Default(hashtable, keys, serving_default_value)
        rows = _exchanged_rows(hashtable, keys, is_train, default, rules, access_and_evict_config)
        id_checks.set_shape(rows, keys, hashtable.dim)
        with tf.device(rows.device):
            rows = rows if trains else tf.stop_gradient(rows)
            rows = taken_by_all_rows(hashtable, rows) if dense and trains else rows
        return ids.with_flat_values(rows) if isinstance(ids, tf.RaggedTensor) else rows


def _exchanged_rows(
    table: Table,
    keys: tf.Tensor,
    is_train: Any,
    default: Default | None,
    rules: AdmissionRules,
    config: dict[str, Any] | None,
) -> tf.Tensor:
    """Return the rows of keys, [*keys.shape, dim], which the rank or the server that holds each of them looks up."""
    counts = rules.access_threshold is not None

    def held_rows(table: Table, keys: tf.Tensor) -> tf.Tensor:
        if counts:
            return _admitted_rows(table, keys, is_train, default, rules, config)
        return sparse_rows(table, keys, is_train, default)

    request = Request(
        keys,
        table.placement,
        functools.partial(held_rows, table),
        counted=counts,
        dim=table.dim if default is None else default.width,
        name=table.table_name,
        averages=table.arguments.averages,
        handles=handles_of([table]),
    )
    if table.parts:
        (rows,) = served_rows([table], [request], lambda parts, keys: list(map(held_rows, parts, keys)))
    else:
        (rows,) = rows_of_all([request])
    return rows if default is None else default.arrived(rows)


def _counted_rows(table: CountedTable, ids: Any, trains: bool, name: str | None) -> tf.Tensor | tf.RaggedTensor:
    """Return rows of a counted table, which lookups never change."""
    if isinstance(ids, tf.SparseTensor):
        dense_keys(ids, table)  # raises with a message
    with tf.name_scope(name or "sparse_lookup"):
        keys = counted.int_keys(ids.flat_values if isinstance(ids, tf.RaggedTensor) else ids)
        rows = counted.lookup([table], keys)
        rows = rows if trains else tf.stop_gradient(rows)
        return ids.with_flat_values(rows) if isinstance(ids, tf.RaggedTensor) else rows


def _refuse_options(table: CountedTable, config: Any, default: Any) -> None:
    for argument, value in (("access_and_evict_config", config), ("serving_default_value", default)):
        if value is not None:
            raise ValueError(
                f"`{argument}` does not apply to the counted table `{table.table_name}`: give create_counted_table "
                "its `rules` instead"
            )


def sparse_rows(table: Table, keys: tf.Tensor, is_train: Any, default: Default | None = None) -> tf.Tensor:
    """Return the rows, [*keys.shape, dim], of keys that this process holds; as `sparse_lookup`, without checks."""
    ops = native.ops()
    if table.on_device is not None:
        return on_device.device_rows(table, keys, is_train, default)

    def evaluate() -> tf.Tensor:
        rows = _recorded(table, keys, ops.rec_lookup)
        if default is None:
            return rows
        present = ops.rec_contains(table.handle, keys)
        id_checks.recorded([table], present)
        return default.where_missing(present, rows)

    def train() -> tf.Tensor:
        rows = _with_addresses(table, keys) if table.expands else _recorded(table, keys, ops.rec_lookup_or_insert)
        return rows if default is None else default.nowhere(rows)

    return id_checks.either(is_train, train, evaluate)


def _admitted_rows(
    table: Table,
    keys: tf.Tensor,
    is_train: Any,
    default: Default | None,
    rules: AdmissionRules,
    config: dict[str, Any] | None,
) -> tf.Tensor:
    """Return the rows of admitted keys, and `default` or zeros for the others."""

    def finished(rows: tf.Tensor, admitted: tf.Tensor) -> tf.Tensor:
        id_checks.recorded([table], rows)
        if table.on_device is not None:
            rows = on_device.admitted_rows(table, keys, rows, admitted, is_train)
            with tf.device(rows.device):
                return rows if default is None else default.where_missing(admitted, rows)
        return rows if default is None else default.where_missing(admitted, rows)

    def train() -> tf.Tensor:
        rows, admitted = admission.counting_lookup(table, keys, rules, config)
        return finished(_admitted_with_addresses(table, keys, admitted) if table.expands else rows, admitted)

    return id_checks.either(is_train, train, lambda: finished(*admission.reading_lookup(table, keys, rules)))


def _admitted_with_addresses(table: Table, keys: tf.Tensor, admitted: tf.Tensor) -> tf.Tensor:
    """Look up admitted keys for training by address; the others read zeros and have no address."""
    rows = _with_addresses(table, tf.boolean_mask(keys, admitted))
    shape = tf.concat([tf.shape(keys, tf.int64), [table.dim]], 0)
    return tf.scatter_nd(tf.where(admitted), rows, shape)


def _recorded(table: Table, keys: tf.Tensor, op: Callable[..., tf.Tensor]) -> tf.Tensor:
    rows = op(table.handle, table.variable.reference(), keys, [table.variable.like])
    id_checks.recorded([table], rows)
    return table.variable.trained(rows)


def dense_keys(ids: Any, table: Table) -> tf.Tensor:
    """Return ids for a lookup without pooling as an int32 or int64 tensor.

    Raises:
        ValueError: it is a SparseTensor, or not a tensor of integers.
    """
    if isinstance(ids, tf.SparseTensor):
        raise ValueError(
            f"the ids of the table `{table.table_name}` are a SparseTensor: pool them with "
            "runtime.embedding_lookup_sparse, look up `ids.values`, or make them dense with tf.sparse.to_dense first"
        )
    return id_checks.integers(ids, f"the table `{table.table_name}`")


def _with_addresses(table: Table, keys: tf.Tensor) -> tf.Tensor:
    """Return the rows of `keys` [..., dim], and add rows and addresses to the collections, as in Rec SDK.

    A training step of a table created under `init(use_dynamic_expansion=True)` works on rows of distinct ids and on
    their addresses: its lookup becomes rows -> gather. Both are in two parallel collections; `tf.gradients(loss, rows)`
    and an optimizer by address train the table:

        rows = tf.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")
        addresses = tf.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")
        train_op = optimizer.apply_gradients(zip(tf.gradients(loss, rows), addresses))
    """
    rows, addresses, numbers = native.ops().rec_expand(table.handle, table.variable.tensor(), keys)
    id_checks.recorded([table], rows)
    table.expansions.append((rows, addresses))
    tf.compat.v1.add_to_collection(LOCAL_EMB, rows)
    tf.compat.v1.add_to_collection(ID_OFFSET, addresses)
    return tf.gather(rows, numbers)
