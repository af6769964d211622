"""Table optimizers against the stock v1 optimizers; what they count survives a restore."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import optimizers
from runtime.optimizers import adadelta, adagrad, ftrl, gradient_descent, momentum, proximal_adagrad, rmsprop
from tests.support.runtime.tables import make_table, rows_of, session

_ROWS, _STEPS = 20, 30
_BATCHES = np.random.default_rng(0).zipf(1.3, size=(_STEPS, 8, 3)) % _ROWS


def _loss(look: Callable[[Any], tf.Tensor], ids: tf.Tensor) -> tf.Tensor:
    """A loss with duplicate ids, of two lookups."""
    rows = look(ids)
    return tf.reduce_mean(tf.reduce_sum(tf.cos(rows) * 3.0, axis=[1, 2])) + tf.reduce_sum(look(ids[:, 0]) ** 2)


def _train(train_ops: list[Any], ids: tf.Tensor, opened: tf.compat.v1.Session) -> None:
    """Run the ops one after another for each batch: what counts the global step must not meet a schedule's read."""
    for batch in _BATCHES:
        for train_op in train_ops:
            opened.run(train_op, {ids: batch})


def _against_stock(ours: Any, stock: Any) -> tuple[np.ndarray, np.ndarray]:
    """Train a table and a variable from the same weights; return the rows of both."""
    table = make_table(init_param=0.1)
    with session() as opened:
        initial = rows_of(opened, table, range(_ROWS))
    weights = tf.compat.v1.get_variable("weights", initializer=initial)
    ids = tf.compat.v1.placeholder(tf.int64, [None, 3])
    step = tf.compat.v1.train.get_or_create_global_step()
    moved = ours(step).minimize(_loss(lambda keys: runtime.sparse_lookup(table, keys), ids), global_step=step)
    reference = stock(step).minimize(_loss(lambda keys: tf.nn.embedding_lookup(weights, keys), ids), var_list=[weights])
    with session() as opened:
        _train([reference, moved], ids, opened)
        assert opened.run(step) == _STEPS
        return rows_of(opened, table, range(_ROWS)), opened.run(weights)


def _schedule(step: tf.Variable) -> tf.Tensor:
    return tf.compat.v1.train.exponential_decay(0.5, step, 5, 0.7)


_FTRL = {"initial_accumulator_value": 0.2, "l1_regularization_strength": 0.3, "l2_regularization_strength": 0.05}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("rate", [lambda step: 0.05, _schedule], ids=["constant", "schedule"])
@pytest.mark.parametrize(
    ("module", "stock", "settings"),
    [
        (gradient_descent, "GradientDescent", {}),
        (adagrad, "Adagrad", {"initial_accumulator_value": 0.1}),
        (adagrad, "Adagrad", {"initial_accumulator_value": 0.9}),
        (momentum, "Momentum", {"momentum": 0.9}),
        (momentum, "Momentum", {"momentum": 0.8, "use_nesterov": True}),
        (rmsprop, "RMSProp", {}),
        (rmsprop, "RMSProp", {"decay": 0.8, "momentum": 0.5, "epsilon": 1e-3}),
        (rmsprop, "RMSProp", {"decay": 0.8, "momentum": 0.5, "epsilon": 1e-2, "centered": True}),
        (ftrl, "Ftrl", {}),
        (ftrl, "Ftrl", _FTRL),
        (ftrl, "Ftrl", {**_FTRL, "l2_shrinkage_regularization_strength": 0.02}),
        (ftrl, "Ftrl", {**_FTRL, "learning_rate_power": -0.7, "beta": 0.1}),
        (ftrl, "Ftrl", {"learning_rate_power": 0.0}),
        (proximal_adagrad, "ProximalAdagrad", {}),
        (proximal_adagrad, "ProximalAdagrad", {"l1_regularization_strength": 0.3, "l2_regularization_strength": 0.05}),
        (adadelta, "Adadelta", {}),
        (adadelta, "Adadelta", {"rho": 0.8, "epsilon": 1e-4}),
    ],
)
def test_a_table_trains_as_the_variable(module: Any, stock: str, settings: dict[str, Any], rate: Any) -> None:
    ours, wanted = _against_stock(
        lambda step: module.create_hash_optimizer(rate(step), **settings),
        lambda step: getattr(tf.compat.v1.train, stock + "Optimizer")(rate(step), **settings),
    )
    np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.usefixtures("graph")
def test_a_keras_schedule_is_asked_for_the_global_step() -> None:
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.5, 5, 0.7)
    ours, stock = _against_stock(
        lambda step: momentum.create_hash_optimizer(schedule),
        lambda step: tf.compat.v1.train.MomentumOptimizer(_schedule(step), 0.9),
    )
    np.testing.assert_allclose(ours, stock, rtol=2e-5, atol=2e-6)


@pytest.mark.usefixtures("graph")
def test_adagrad_epsilon() -> None:
    table = make_table(dim=1, initializer=tf.constant_initializer(1.0))
    optimizer = adagrad.create_hash_optimizer(0.5, initial_accumulator_value=0.0, epsilon=0.25)
    train = optimizer.minimize(2.0 * tf.reduce_sum(runtime.sparse_lookup(table, [3])))
    with session() as opened:
        opened.run(train)
        np.testing.assert_allclose(rows_of(opened, table, [3]), [[1.0 - 0.5 * 2.0 / (2.0 + 0.25)]], rtol=1e-6)


_RATE = 0.1
_SCHEDULE = tf.keras.optimizers.schedules.PiecewiseConstantDecay([1, 3], [0.4, 0.2, 0.1])
_FACTORS = tf.constant([[1.0, -3.0]])


def _modules() -> list[str]:
    modules = {name: importlib.import_module(f"{optimizers.__name__}.{name}") for _, name, _ in _listed()}
    names = [name for name, module in modules.items() if hasattr(module, "create_hash_optimizer")]
    return sorted(names, key=lambda name: (name not in ("lazy_adam", "keras_adamw"), name))


def _listed() -> list[Any]:
    """Return all but those by address: they are of graphs, in which the update makes the counters before a session."""
    return [one for one in pkgutil.iter_modules(optimizers.__path__) if not one.name.endswith("_by_addr")]


def _job(module: str, rate: Any) -> tuple[Any, Any, tf.train.Checkpoint]:
    table = make_table(dim=2)
    given = {"global_step": tf.Variable(0, dtype=tf.int64)} if module == "adagrad_decay" else {}
    optimizer = importlib.import_module(f"{optimizers.__name__}.{module}").create_hash_optimizer(rate, **given)
    return table, optimizer, tf.train.Checkpoint(table=table, optimizer=optimizer, **given)


def _step(table: Any, optimizer: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(runtime.sparse_lookup(table, [7]) * _FACTORS)
    optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
    return np.asarray(runtime.sparse_lookup(table, [7], is_train=False))


@pytest.mark.parametrize("scheduled", [False, True])
@pytest.mark.parametrize("module", _modules())
def test_a_job_that_only_restores_and_saves_loses_no_step(module: str, scheduled: bool, tmp_path: Path) -> None:
    rate = _SCHEDULE if scheduled else _RATE
    table, optimizer, checkpoint = _job(module, rate)
    for _ in range(3):
        _step(table, optimizer)
    path = checkpoint.write(str(tmp_path / "first"))
    expected = [_step(table, optimizer) for _ in range(2)]
    for name in ("second", "third"):
        table, optimizer, checkpoint = _job(module, rate)
        checkpoint.read(path).assert_consumed()
        path = checkpoint.write(str(tmp_path / name))
    np.testing.assert_array_equal([_step(table, optimizer) for _ in range(2)], expected)


def test_adam_counts_as_kerass_own_does(tmp_path: Path) -> None:
    variable, stock = tf.Variable([[0.5, 0.5]]), tf.keras.optimizers.Adam(_RATE)
    table, optimizer, checkpoint = _job("keras_adam", _RATE)
    table.import_rows([7], variable.numpy())
    for step in range(5):
        if step == 3:
            path = checkpoint.write(str(tmp_path / "first"))
            for name in ("second", "third"):
                table, optimizer, checkpoint = _job("keras_adam", _RATE)
                checkpoint.read(path)
                path = checkpoint.write(str(tmp_path / name))
        _step(table, optimizer)
        stock.apply_gradients([(_FACTORS, variable)])
    np.testing.assert_allclose(runtime.sparse_lookup(table, [7], is_train=False), variable, atol=1e-6)
