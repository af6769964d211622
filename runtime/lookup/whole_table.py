"""Terms of a loss over all rows of a table, as `tf.nn.l2_loss(W)` is for a variable."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import _tf_private, _validation, native, ranks
from runtime.embedding_variable.counted_table import CountedTable
from runtime.lookup import id_checks
from runtime.table import control_dependencies
from runtime.table.table import Table

Array = NDArray[Any]

#: The first of three keys whose rows stand for terms (`native/ops/terms.cc`): of half the squares, of absolute values,
#: and one that only says that there are terms. The rows are multiples of a scale.
_TERMS = -(2**63) + 0x7265631
_SCALE = 2.0**96
#: Tables of terms by graph and the name of their op, until updates wait for them; a table would keep its graph alive.
_idle: WeakKeyDictionary[tf.Graph, dict[str, ref[Table]]] = WeakKeyDictionary()


def whole_table_l2(table: Table, size: int | None = None, every: int = 1, name: str | None = None) -> tf.Tensor:
    """Return half the sum of the squares of all rows, a float32 scalar: `tf.nn.l2_loss` of the variable.

    Its gradient is exact and costs what the batch costs: each row takes each step of the optimizer, whether it is
    looked up or not, but not before it is read or saved. The factor of the term may be any scalar, and differ from step
    to step.

    The *value* reads the table. In each step it is computed, before the update, in time proportional to all rows,
    unless `every` allows older ones.

    Args:
        table: a table of one process or on servers, without admission of keys and dynamic expansion.
        size: the number of rows of the variable. Ids 0 to `size` - 1 without a row get one when the value is first
            computed. None: the value counts the rows that the table has; the gradient is the same.
        every: how many evaluations of the table's terms may return the same value; 1 is exact.
        name: scope of the ops.

    Raises:
        ValueError: an argument has a wrong type or range, or the table cannot have such terms.
    """
    return _norms(table, size, every, name)[0]


def whole_table_l1(table: Table, size: int | None = None, every: int = 1, name: str | None = None) -> tf.Tensor:
    """Return the sum of the absolute values of all rows, `tf.reduce_sum(tf.abs(W))`; as `whole_table_l2`."""
    return _norms(table, size, every, name)[1]


@_tf_private.as_written
def _norms(table: Table, size: int | None, every: int, name: str | None) -> tf.Tensor:
    """Return float32 [2]: half the sum of squares and the sum of absolute values of all rows, before each update."""
    norms = idle_norms(table, size, every, name)
    _wait_for(norms)
    return norms


@_tf_private.as_written
def idle_norms(table: Table, size: int | None, every: int = 1, name: str | None = None) -> tf.Tensor:
    """Return `_norms` for a loss that may not be trained: no update reads all rows for it before it has a gradient.

    Raises:
        ValueError: see `whole_table_l2`.
    """
    id_checks.require_table(table, "table")
    rows = 0 if size is None else _validation.integer("size", size, 1)
    held = _validation.integer("every", every, 1)
    _let_all_rows_step(table, "a term over all rows", "take a term over looked_up_rows instead")
    with tf.name_scope(name or f"{table.table_name}_whole_table"), tf.device("/device:CPU:0"):
        if len(table.parts) > 1:
            return tf.add_n([_norms_there(part, rows, held) for part in table.parts])
        return _norms_of(table, table.handle, rows, held)


def _norms_of(table: Table, handle: tf.Tensor, rows: int, held: int) -> tf.Tensor:
    norms, _ = native.ops().rec_whole_table_norms(handle, table.variable.tensor(), size=rows, every=held)
    if not tf.executing_eagerly():
        norms.set_shape([2])
        _idle.setdefault(norms.graph, {})[norms.op.name] = ref(table)
    return norms


def _norms_there(shard: Table, rows: int, held: int) -> tf.Tensor:
    """Return the norms of the rows of one of several servers, which gets those of its ids below `rows` first."""
    ((number, count),) = ((server.number, server.count) for server in shard.arguments.servers)
    with tf.device(shard.place):
        own = tf.range(number, rows, count, tf.int64)

        def insert() -> tf.Tensor:
            anchor = shard.variable
            rows = native.ops().rec_lookup_or_insert(shard.handle, anchor.reference(), own, [anchor.like])
            return tf.cast(tf.reduce_any(tf.math.is_nan(rows)), tf.int32)  # Grappler computes shapes without the op

        with tf.control_dependencies([tf.cond(shard.size() < tf.size(own, tf.int64), insert, lambda: 0)]):
            handle = tf.identity(shard.handle, name="complete")
        return _norms_of(shard, handle, 0, held)


def _let_all_rows_step(table: Table, what: str, instead: str) -> None:
    """Note that updates of a table may concern all of its rows.

    Raises:
        ValueError: those of this table cannot.
    """
    elsewhere = ranks.size() > 1 or table.on_device is not None
    delays = table.admission is not None and table.admission.delays
    if isinstance(table, CountedTable) or table.expands or elsewhere or delays:
        raise ValueError(
            f"the table `{table.table_name}` cannot have {what}: it must be a table of one process or of "
            f"servers, without rows on a device, counted keys, admission and dynamic expansion; {instead}"
        )
    id_checks.with_gradient([table], True)
    for held in table.parts or [table]:
        held.has_terms = True


def wants_dense_gradient(table: Table, dense_gradient: bool) -> bool:
    """Return the checked argument of a lookup of a table.

    Raises:
        ValueError: it is no bool, or it is True and the table cannot have such gradients.
    """
    wanted = _validation.boolean("dense_gradient", dense_gradient)
    if wanted:
        _let_all_rows_step(table, "a dense gradient", "leave `dense_gradient` False")
    return wanted


def taken_by_all_rows(table: Table, rows: tf.Tensor) -> tf.Tensor:
    """Return looked-up rows float32 [..., dim] by which a loss lets every row of the table take the step.

    Their gradient is that of a matrix: optimizers such as Momentum, RMSProp and FTRL move all rows of a variable that
    has one, also those whose gradient is zero. A row takes its steps when it is needed.

    `wants_dense_gradient` has checked the table.
    """

    def joined(rows: tf.Tensor, anchor: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.IndexedSlices]:
            row = tf.fill([1, table.dim], tf.constant(_SCALE, anchor.dtype))
            keys = tf.constant([_TERMS + 2], tf.int64)
            return upstream, tf.IndexedSlices(row, keys, tf.shape(anchor, tf.int64))

        return tf.identity(rows), gradient

    with tf.device("/device:CPU:0"):
        for held in table.parts or [table]:
            rows = tf.custom_gradient(joined)(rows, held.variable.tensor())
        return rows


def _wait_for(total: tf.Tensor) -> None:
    """Let the updates of a table wait for a term in a graph, those of its shards each for its own."""
    if tf.executing_eagerly():
        return
    for norms in total.op.inputs if total.op.type == "AddN" else [total]:
        known = _idle.get(norms.graph, {}).pop(norms.op.name, None)
        table = None if known is None else known()
        if table is not None:
            _updates_wait(table, norms)


def _updates_wait(table: Table, norms: tf.Tensor) -> None:
    if not _tf_private.in_control_flow(norms.op):
        table.terms.setdefault(norms.graph, []).append(norms.op.name)
    if table.graph is not None and norms.graph is table.graph:
        # It reads no data, so it is part of every step. Later updates read its second output.
        control_dependencies.lookup_added(norms.op, table.updates, steady=True)


def written_out(table: Table, gradient: tf.IndexedSlices) -> tf.IndexedSlices:
    """Return an eager gradient of a table with the parts of its terms in the gradient of each row that the table has.

    This is what a variable's gradient is, for comparisons; the optimizers of tables take the gradient as it came.
    """
    rows, current = (part.numpy() for part in table.snapshot()[:2])
    keys, values = spelled_out(np.asarray(gradient.indices), np.asarray(gradient.values), rows, current)
    return tf.IndexedSlices(tf.constant(values), tf.constant(keys), gradient.dense_shape)


def spelled_out(keys: Array, values: Array, rows: Array, current: Array) -> tuple[Array, Array]:
    """Return keys int64 [n] and values float32 [n, dim] of a table's gradient with the parts of terms in each row.

    `rows` [m] are the keys of the table, and `current` [m, dim] their values. A gradient without terms is not changed.
    """
    ours = keys - _TERMS
    terms = (ours >= 0) & (ours <= 2)
    if not terms.any():
        return keys, values
    kinds = [float(values[ours == kind].sum(0, np.float64)[0]) / _SCALE for kind in (0, 1)]
    sums = {int(key): kinds[0] * row + kinds[1] * np.sign(row) for key, row in zip(rows, current, strict=True)}
    for key, value in zip(keys[~terms], values[~terms], strict=True):
        sums[int(key)] = sums.get(int(key), 0) + value
    order = sorted(sums)
    ordered = np.array([sums[key] for key in order], np.float32).reshape(-1, values.shape[1])
    return np.array(order, np.int64), ordered


def _gradient(op: tf.Operation, gradient: tf.Tensor, _: Any) -> list[Any]:
    """Return the term as rows of the anchor's gradient, which only updates of tables can read."""
    _wait_for(op.outputs[0])  # a tape in a graph gives no op
    anchor = op.inputs[1]
    with tf.device("/device:CPU:0"):
        values, keys = native.ops().rec_whole_table_gradient(anchor, gradient)
    return [None, tf.IndexedSlices(values, keys, tf.shape(anchor))]


tf.RegisterGradient("RecWholeTableNorms")(_gradient)
tf.no_gradient("RecWholeTableGradient")
