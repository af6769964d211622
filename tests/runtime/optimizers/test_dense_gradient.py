"""Tables whose rows take every step, beside a variable with a dense gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.compat import deeprec
from runtime.optimizers import adadelta, adagrad, adam, ftrl, gradient_descent, momentum, proximal_adagrad, rmsprop

v1: Any = tf.compat.v1
RULES: dict[str, tuple[Any, Any]] = {
    "momentum": (v1.train.MomentumOptimizer(0.2, 0.9), momentum.create_hash_optimizer(0.2, 0.9)),
    "nesterov": (
        v1.train.MomentumOptimizer(0.2, 0.9, use_nesterov=True),
        momentum.create_hash_optimizer(0.2, 0.9, use_nesterov=True),
    ),
    "rmsprop": (v1.train.RMSPropOptimizer(0.1), rmsprop.create_hash_optimizer(0.1)),
    "rmsprop with momentum": (
        v1.train.RMSPropOptimizer(0.1, 0.8, 0.7, centered=True),
        rmsprop.create_hash_optimizer(0.1, 0.8, 0.7, centered=True),
    ),
    "ftrl": (
        v1.train.FtrlOptimizer(0.3, l1_regularization_strength=0.02, l2_regularization_strength=0.01),
        ftrl.create_hash_optimizer(0.3, l1_regularization_strength=0.02, l2_regularization_strength=0.01),
    ),
    "proximal": (
        v1.train.ProximalAdagradOptimizer(0.3, 0.2, 0.02, 0.01),
        proximal_adagrad.create_hash_optimizer(0.3, 0.2, 0.02, 0.01),
    ),
    "adadelta": (v1.train.AdadeltaOptimizer(1.0, 0.9), adadelta.create_hash_optimizer(1.0, 0.9)),
    "adagrad": (v1.train.AdagradOptimizer(0.3), adagrad.create_hash_optimizer(0.3, 0.1)),
    "adam": (v1.train.AdamOptimizer(0.05), adam.create_hash_optimizer(0.05)),
    "sgd": (v1.train.GradientDescentOptimizer(0.5), gradient_descent.create_hash_optimizer(0.5)),
}
#: Rows 0 to 2 after a step of row 1 and one of row 2 with the gradient 1: row 1 goes on by its momentum.
MOVED = [0.3, 0.1 - 0.2 * 0.9, 0.1]
START = v1.constant_initializer(0.3)
DRAW = np.random.RandomState(4)
#: Ids 0 to 3 at first, then others: the rows of those begin after many steps.
BATCHES = [DRAW.randint(0, 4 if step < 12 else 9, 5) for step in range(30)]


def made(**settings: Any) -> runtime.Table:
    return runtime.create_table(tf.int64, 4, "item", START, device_vocabulary_size=9, **settings)


@pytest.mark.parametrize("rule", RULES)
def test_every_row_takes_each_step(rule: str, graph: tf.Graph, tmp_path: Path) -> None:
    """30 steps, the last 10 after a checkpoint that another session restores."""
    stock, ours = RULES[rule]
    ids, weights = v1.placeholder(tf.int64, [None]), tf.constant(np.linspace(-1, 2, 4), tf.float32)
    variable, table = v1.get_variable("stock", [9, 4], initializer=START), made()
    losses = [
        tf.reduce_sum(0.2 * (rows - weights) ** 2)
        for rows in (tf.matmul(tf.one_hot(ids, 9), variable), runtime.sparse_lookup(table, ids, dense_gradient=True))
    ]
    steps = [
        optimizer.minimize(loss, var_list=[trained])
        for optimizer, loss, trained in zip((stock, ours), losses, (variable, table.variable), strict=True)
    ]
    saver = v1.train.Saver()
    start = [v1.global_variables_initializer(), v1.tables_initializer()]
    with v1.Session() as session:
        session.run(start)
        for batch in BATCHES[:20]:
            found = session.run([losses, steps], {ids: batch})[0]
            np.testing.assert_allclose(found[1], found[0], rtol=2e-5)
        saver.save(session, str(tmp_path / "kept"))
    with v1.Session() as session:
        session.run(start)
        saver.restore(session, str(tmp_path / "kept"))
        for batch in BATCHES[20:]:
            session.run(steps, {ids: batch})
        rows = session.run(runtime.all_rows(table, 9))
        np.testing.assert_allclose(rows, session.run(variable), rtol=2e-5, atol=1e-6)


def test_a_lookup_without_it_leaves_other_rows_as_they_are() -> None:
    """The steps above would tell nothing if they moved the rows of the batch alone."""
    rows = {}
    for dense in (False, True):
        table, optimizer = made(), momentum.create_hash_optimizer(0.2, 0.9)
        for batch in ([1], [2]):

            def loss(table: runtime.Table = table, ids: Any = batch, dense: bool = dense) -> tf.Tensor:
                return tf.reduce_sum(runtime.sparse_lookup(table, ids, dense_gradient=dense))

            optimizer.minimize(loss, var_list=[table.variable])
        rows[dense] = runtime.all_rows(table, 3).numpy()[:, 0]
    np.testing.assert_allclose(rows[False], [0.3, 0.1, 0.1], rtol=1e-6)
    np.testing.assert_allclose(rows[True], MOVED, rtol=1e-6)


def test_many_eager_tables_are_updated_together() -> None:
    tables, optimizer = [made() for _ in range(2)], momentum.create_hash_optimizer(0.2, 0.9)
    for batch in ([1], [2]):

        def loss(ids: Any = batch) -> tf.Tensor:
            rows = [
                runtime.sparse_lookup(one, ids, dense_gradient=dense)
                for one, dense in zip(tables, (True, False), strict=True)
            ]
            return tf.add_n([tf.reduce_sum(one) for one in rows])

        optimizer.minimize(loss, var_list=[table.variable for table in tables])
    np.testing.assert_allclose(runtime.all_rows(tables[0], 3)[:, 0], MOVED, rtol=1e-6)
    np.testing.assert_allclose(runtime.all_rows(tables[1], 3)[:, 0], [0.3, 0.1, 0.1], rtol=1e-6)


@pytest.mark.parametrize("order", [("dense", "sparse"), ("sparse", "dense"), ("sparse", "sparse")])
def test_a_step_of_other_lookups_is_one_of_its_rows(order: tuple[str, str], graph: tf.Graph) -> None:
    """A loss that does not depend on the matrix has a gradient for some rows, as with a variable."""
    ids = v1.placeholder(tf.int64, [None])
    table, variable = made(), v1.get_variable("stock", [9, 4], initializer=START)
    losses = {
        "dense": (tf.matmul(tf.one_hot(ids, 9), variable), runtime.sparse_lookup(table, ids, dense_gradient=True)),
        "sparse": (tf.gather(variable, ids), runtime.sparse_lookup(table, ids)),
    }
    optimizers = v1.train.MomentumOptimizer(0.2, 0.9), momentum.create_hash_optimizer(0.2, 0.9)
    steps = {
        kind: [
            one.minimize(tf.reduce_sum(rows), var_list=[trained])
            for one, rows, trained in zip(optimizers, pair, (variable, table.variable), strict=True)
        ]
        for kind, pair in losses.items()
    }
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        for number, kind in enumerate(order * 3):
            session.run(steps[kind], {ids: [number % 4, 2]})
        rows = session.run(runtime.all_rows(table, 9))
        np.testing.assert_allclose(rows, session.run(variable), rtol=1e-5)


def test_a_counted_table_says_that_it_cannot(graph: tf.Graph) -> None:
    filters = deeprec.EmbeddingVariableOption(filter_option=deeprec.CounterFilter(2))
    counted = deeprec.get_embedding_variable("counted", 4, ev_option=filters).table
    sparse = tf.sparse.from_dense([[1, 2]])
    for look_up in (
        lambda: runtime.sparse_lookup(counted, [1], dense_gradient=True),
        lambda: runtime.embedding_lookup_sparse(counted, sparse, dense_gradient=True),
        lambda: runtime.safe_embedding_lookup_sparse(counted, sparse, dense_gradient=True),
    ):
        with pytest.raises(ValueError, match=r"cannot have a dense gradient: .*; leave `dense_gradient` False"):
            look_up()
