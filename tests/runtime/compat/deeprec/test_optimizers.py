"""DeepRec's optimizers and stock ones train EmbeddingVariables as they train variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "decay": lambda rec: rec.train.AdagradDecayOptimizer(0.1, rec.train.get_or_create_global_step(), 0.1, 2, 0.9),
    "decay 2": lambda rec: rec.train.AdagradDecayOptimizerV2(0.1, rec.train.get_or_create_global_step(), 0.2, 1, 0.5),
    "async": lambda rec: rec.train.AdamAsyncOptimizer(0.1),
    "async, rmsprop": lambda rec: rec.train.AdamAsyncOptimizer(0.1, apply_sparse_rmsprop=True),
    "adamw": lambda rec: rec.train.AdamWOptimizer(0.01, learning_rate=0.1),
}
_MATRIX = np.random.default_rng(3).normal(size=(8, 3)).astype(np.float32)


def _variables(rec: Any, resource: bool) -> tuple[Any, Any]:
    init = rec.InitializerOption(initializer=rec.constant_initializer(_MATRIX), default_value_dim=8)
    ours = rec.get_embedding_variable("ours", 3, ev_option=rec.EmbeddingVariableOption(init_option=init))
    return ours, rec.get_variable("theirs", initializer=_MATRIX, use_resource=resource)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_five_steps_are_those_of_a_variable(rec: Any, name: str, resource: bool) -> None:
    both = _variables(rec, resource)
    factors = np.random.default_rng(4).normal(size=(7, 3)).astype(np.float32)
    rows = [rec.nn.embedding_lookup(one, [0, 1, 2, 5, 6, 7, 2]) for one in both]
    loss = rec.add_n([rec.reduce_sum(rec.square(found) * factors + found) for found in rows])
    train = OPTIMIZERS[name](rec).minimize(loss, rec.train.get_or_create_global_step(), var_list=both)
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for _ in range(5):
            session.run(train)
            found, wanted = session.run(rows)
            np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("kind", ["ours", "theirs"])
def test_the_powers_of_adam_async_belong_to_a_variable(rec: Any, kind: str) -> None:
    both = dict(zip(["ours", "theirs"], _variables(rec, True), strict=True))
    optimizer = rec.train.AdamAsyncOptimizer(0.1, beta1=0.8, beta2=0.9)
    trains = {
        name: rec.reduce_sum(rec.square(rec.nn.embedding_lookup(variable, [1]))) for name, variable in both.items()
    }
    steps = {name: optimizer.minimize(loss, var_list=[both[name]]) for name, loss in trains.items()}
    powers = {one.op.name: one for one in optimizer.variables() if "_power" in one.op.name}
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for _ in range(2):
            session.run(steps[kind])
        found = session.run(powers)
    other = "theirs" if kind == "ours" else "ours"
    assert {name.split("/")[0] for name in found} == {"ours", "theirs"}
    for name, value in found.items():
        beta = 0.8 if "beta1" in name else 0.9
        assert value == pytest.approx(beta if name.startswith(other) else beta**3)


def test_adamw_takes_the_decay_off_first_and_only_where_it_is_asked_to(rec: Any) -> None:
    ours, theirs = _variables(rec, True)
    weights = rec.get_variable("weights", [3, 1], initializer=rec.ones_initializer(rec.float32), use_resource=True)
    rows = [rec.nn.embedding_lookup(one, [1]) for one in (ours, theirs)]
    loss = rec.reduce_sum(rec.matmul(rows[0] + rows[1], weights)) * 0.0
    train = rec.train.AdamWOptimizer(0.25).minimize(loss, decay_var_list=[ours, weights])
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        session.run(train)
        found, still, dense = session.run([*rows, weights])
    np.testing.assert_allclose(found[0], 0.75 * _MATRIX[1], rtol=1e-6)
    np.testing.assert_array_equal(still[0], _MATRIX[1])
    np.testing.assert_allclose(dense, 0.75)


@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if "rmsprop" not in name])
def test_a_dense_gradient_is_one_of_all_rows(rec: Any, name: str) -> None:
    dense, sparse = (rec.get_variable(name, initializer=_MATRIX, use_resource=True) for name in ("dense", "sparse"))
    loss = rec.reduce_sum(rec.square(dense)) + rec.reduce_sum(rec.square(rec.gather(sparse, np.arange(8))))
    step = rec.train.get_or_create_global_step()
    train = OPTIMIZERS[name](rec).minimize(loss, step, var_list=[dense, sparse])
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        one, other = session.run([dense, sparse])
    assert np.all(np.abs(one - _MATRIX) > 1e-3)
    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"initial_accumulator_value": 0.0}, "initial_accumulator_value must be positive"),
        ({"accumulator_decay_step": 0}, "accumulator_decay_step must be positive"),
        ({"accumulator_decay_rate": 1.0}, "accumulator_decay_rate must be in"),
    ],
)
def test_settings_of_adagrad_decay_that_are_refused(rec: Any, settings: dict[str, Any], message: str) -> None:
    for optimizer in (rec.train.AdagradDecayOptimizer, rec.train.AdagradDecayOptimizerV2):
        with pytest.raises(ValueError, match=message):
            optimizer(0.1, rec.train.get_or_create_global_step(), **settings)


@pytest.mark.parametrize(
    ("installed", "wanted"), [({}, [0.8282884, 0.7927219]), ({"group_ftrl": False}, [0.8142196, 0.77165514])]
)
def test_ftrl_has_the_constants_of_deeprec_unless_told_otherwise(
    installed: dict[str, bool], wanted: list[float]
) -> None:
    deeprec.install(**installed)
    try:
        with tf.Graph().as_default():
            variable = tf.get_embedding_variable("ours", 3, initializer=tf.ones_initializer(tf.float32))
            rows = tf.nn.embedding_lookup(variable, [1, 2])
            loss = tf.reduce_sum(rows * [[6.0], [4.0]])
            train = tf.train.FtrlOptimizer(0.1, l1_regularization_strength=2.0).minimize(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(train)
                np.testing.assert_allclose(session.run(rows)[:, 0], wanted, rtol=1e-6)
    finally:
        deeprec.uninstall()
    assert not hasattr(tf.compat.v1.train.FtrlOptimizer, "table_form")
    assert not hasattr(tf.train, "FtrlOptimizer")


_train = tf.compat.v1.train
OPTIMIZERS_STOCK: dict[str, Callable[[], Any]] = {
    "sgd": lambda: _train.GradientDescentOptimizer(0.1),
    "momentum": lambda: _train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: _train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: _train.AdagradOptimizer(0.1),
    "adagrad, start": lambda: _train.AdagradOptimizer(0.1, initial_accumulator_value=0.5),
    "adam": lambda: _train.AdamOptimizer(0.1),
    "ftrl": lambda: _train.FtrlOptimizer(0.1, l1_regularization_strength=0.5, l2_regularization_strength=0.2),
    "ftrl, shrinkage": lambda: _train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1, beta=0.2),
    "rmsprop": lambda: _train.RMSPropOptimizer(0.1, momentum=0.5),
    "rmsprop, centered": lambda: _train.RMSPropOptimizer(0.1, centered=True),
    "adadelta": lambda: _train.AdadeltaOptimizer(0.1),
}


@pytest.fixture(autouse=True)
def _stock_ftrl(rec: Any) -> None:
    """DeepRec's FTRL on EmbeddingVariables is not that of variables."""
    deeprec.install(group_ftrl=False)


def _pair(rec: Any, rows: int = 8, dim: int = 3) -> tuple[Any, Any]:
    """Return an EmbeddingVariable and a variable with the same rows."""
    matrix = np.random.default_rng(3).normal(size=(rows, dim)).astype(np.float32)
    init = rec.InitializerOption(initializer=rec.constant_initializer(matrix), default_value_dim=rows)
    ours = rec.get_embedding_variable("ours", dim, ev_option=rec.EmbeddingVariableOption(init_option=init))
    return ours, rec.get_variable("theirs", initializer=matrix, use_resource=True)


@pytest.mark.parametrize("name", OPTIMIZERS_STOCK)
def test_five_steps_of_stock_optimizers_are_those_of_a_variable(rec: Any, name: str) -> None:
    ours, theirs = _pair(rec)
    ids = [0, 1, 2, 5, 6, 7]
    factors = np.random.default_rng(4).normal(size=(6, 3)).astype(np.float32)
    rows = [rec.nn.embedding_lookup(one, ids) for one in (ours, theirs)]
    trains = [
        OPTIMIZERS_STOCK[name]().minimize(rec.reduce_sum(rec.square(found) * factors + found), var_list=[one])
        for found, one in zip(rows, (ours, theirs), strict=True)
    ]
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for _ in range(5):
            session.run(trains)
        found, wanted = session.run(rows)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["sgd", "adagrad", "adam", "ftrl"])
def test_the_steps_of_equal_gradients_are_the_same_bits(rec: Any, name: str) -> None:
    rows = [
        rec.nn.embedding_lookup(one, [0, 1, 2, 5, 6, 7])
        for one in (
            rec.get_embedding_variable("ours", 3, initializer=rec.ones_initializer(rec.float32)),
            rec.get_variable("theirs", [8, 3], initializer=rec.ones_initializer(rec.float32), use_resource=True),
        )
    ]
    train = OPTIMIZERS_STOCK[name]().minimize(rec.add_n([rec.reduce_sum(2.0 * found) for found in rows]))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for _ in range(5):
            session.run(train)
            ours, theirs = session.run(rows)
            assert np.array_equal(ours, theirs)


def test_optimizers_without_a_form_are_refused(rec: Any) -> None:
    ours, _ = _pair(rec)
    loss = rec.reduce_sum(rec.nn.embedding_lookup(ours, [1]))

    class Odd(_train.AdamOptimizer):  # type: ignore[misc]
        def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
            return tf.no_op()

    with pytest.raises(
        TypeError, match=r"Odd cannot update the table `ours`, because Odd overrides _resource_apply_sparse"
    ):
        Odd(0.1).minimize(loss, var_list=[ours])
    with pytest.raises(
        TypeError, match=r"AdagradDAOptimizer cannot update .* because AdagradDAOptimizer overrides _apply_sparse"
    ):
        rec.train.AdagradDAOptimizer(0.1, rec.train.get_or_create_global_step()).minimize(loss, var_list=[ours])
    with pytest.raises(TypeError, match="the gradient of the table `ours` is a dense tensor"):
        rec.train.AdamOptimizer(0.1).apply_gradients([(rec.zeros([3, 3]), ours)])
