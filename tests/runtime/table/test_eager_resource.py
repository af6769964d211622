"""Tables in eager mode and tf.function: the numbers of a plain variable, order, lifetime, checkpoints, refusals."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import native
from runtime.optimizers import gradient_descent
from tests.support.runtime.tables import make_table

_ROWS = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
_BATCHES = np.random.default_rng(1).integers(0, 10, size=(6, 5, 2))


def _filled(name: str = "user") -> runtime.Table:
    table = make_table(name)
    table.import_rows(np.arange(10), _ROWS)
    return table


def _step(look: Callable[[Any], tf.Tensor], variable: Any, optimizer: Any, ids: Any) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(look(ids)) * 3.0) + tf.reduce_sum(look(ids[:, 0]) ** 2)
    optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])


def test_a_function_runs_lookups_and_updates_in_program_order() -> None:
    table, other = _filled(), _filled("item")
    optimizer = gradient_descent.create_hash_optimizer(1.0)

    def look() -> tf.Tensor:
        return runtime.sparse_lookup(table, [3])

    def update() -> None:
        slices = tf.IndexedSlices(tf.ones([1, 4]), tf.constant([3], tf.int64))
        optimizer.apply_gradients([(slices, table.variable)])

    inner = tf.function(update)

    @tf.function
    def run(flag: tf.Tensor, times: tf.Tensor) -> list[tf.Tensor]:
        seen = [look()]
        update()
        seen.append(look())
        inner()
        seen.append(tf.function(look)())
        tf.cond(flag, lambda: [update(), 1][1], lambda: 0)
        seen.append(look())
        for _ in tf.range(times):
            runtime.sparse_lookup(other, [1])
            update()
        return [*seen, look()]

    for start in (0, 9):
        seen = run(tf.constant(True), tf.constant(6))
        expected = [_ROWS[3] - start - moved for moved in (0, 1, 2, 3, 9)]
        np.testing.assert_allclose(tf.concat(seen, 0), expected, rtol=1e-5, atol=1e-5)


def test_a_table_is_freed_with_its_last_reference() -> None:
    table = _filled()
    handle = table.handle
    del table
    gc.collect()
    with pytest.raises(tf.errors.InvalidArgumentError, match="this session has not created the table"):
        native.ops().rec_table_size(handle)


def test_xla_is_refused_by_name() -> None:
    table = _filled()
    with pytest.raises(RuntimeError, match=r"XLA cannot compile the table `user`: leave jit_compile=True out"):
        tf.function(lambda: runtime.sparse_lookup(table, [1]), jit_compile=True)()


def test_wrong_places_are_refused_by_name() -> None:
    table = _filled()
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="`user` was created in eager mode but is used in a v1 graph"):
            runtime.sparse_lookup(table, [1])
        with pytest.raises(ValueError, match="`user` was created in eager mode"):
            table.size()
        graph_table = make_table("of_graph")
    with pytest.raises(ValueError, match="`of_graph` belongs to another graph"):
        runtime.sparse_lookup(graph_table, [1])
    with pytest.raises(RuntimeError, match=r"'inner'.* inside a tf.function"):
        tf.function(lambda: make_table("inner").dim)()
    with pytest.raises(RuntimeError, match=r"use model\.trainable_variables"):
        runtime.get_dense_and_sparse_variable()


@pytest.mark.parametrize("stock", [tf.compat.v1.train.GradientDescentOptimizer, tf.compat.v1.train.AdagradOptimizer])
def test_a_stock_optimizer_is_refused_by_name(stock: Any) -> None:
    table = _filled()
    with pytest.raises(TypeError, match=r"a stock optimizer cannot update the table `user`.*create_hash_optimizer"):
        _step(lambda keys: runtime.sparse_lookup(table, keys), table.variable, stock(0.1), tf.constant(_BATCHES[0]))


def test_a_stock_gather_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="the table `user` holds no rows"):
        tf.nn.embedding_lookup(_filled().variable, [1])


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("read", [tf.nn.l2_loss, lambda one: one * 2.0, lambda one: tf.reduce_sum(one.read_value())])
def test_what_reads_all_rows_has_them_or_is_refused_by_name(read: Callable[[Any], Any], traced: bool) -> None:
    """A regularizer over them would have no gradient."""
    table = _filled()
    assert np.array_equal(read(table.variable), read(tf.Variable(table.snapshot()[1])))
    with pytest.raises(TypeError, match="the table `user` holds no rows"):
        if traced:
            tf.function(lambda: read(table.variable))()
        with tf.GradientTape():
            read(table.variable)


@pytest.mark.parametrize(
    "look_up",
    [
        runtime.sparse_lookup,
        lambda table, ids: runtime.embedding_lookup_sparse(table, tf.sparse.from_dense([ids]), None),
    ],
)
def test_a_replica_of_a_strategy_is_refused_by_name(look_up: Callable[..., tf.Tensor]) -> None:
    table = _filled()
    step = tf.function(lambda: look_up(table, [1, 2]))
    with pytest.raises(
        RuntimeError, match=r"the table `user` is used in a replica of MirroredStrategy.*leave the strat"
    ):
        tf.distribute.MirroredStrategy(["/cpu:0"]).run(step)
    tf.distribute.OneDeviceStrategy("/cpu:0").run(step)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.one_case
def test_a_table_is_not_copied_since_its_copy_would_end_its_rows(copied: Callable[[Any], Any]) -> None:
    table = _filled()
    for part in (table, {"table": table}) if copied is not copy.copy else (table,):
        with pytest.raises(TypeError, match=r"`user` cannot be copied or pickled: .*import_rows"):
            copied(part)
    gc.collect()
    np.testing.assert_array_equal(runtime.sparse_lookup(table, tf.range(10)), _ROWS)
