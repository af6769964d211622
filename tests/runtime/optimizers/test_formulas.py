"""Table optimizers that TensorFlow has not, against their formulas in float64: random ids with duplicates."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

import runtime
from runtime import config, optimizers
from runtime.native.update_rules import UPDATE_RULES
from runtime.optimizers import (
    adagrad,
    adagrad_by_addr,
    adagrad_decay,
    adamw,
    ftrl,
    gradient_descent,
    gradient_descent_by_addr,
    lazy_adam,
    lazy_adam_by_addr,
)
from runtime.table.addresses import ID_OFFSET, LOCAL_EMB
from tests.support.runtime.tables import make_table, rows_of, session

v1 = tf.compat.v1
Array = NDArray[Any]
#: (weights, gradients, slots by name, the number of the step from 1) -> the new weights; slots are changed in place.
Rule = Callable[[Array, Array, dict[str, Array], int], Array]

_ROWS, _DIM, _STEPS = 25, 4, 20
_RANDOM = np.random.default_rng(11)
_IDS = np.minimum(_RANDOM.zipf(1.4, size=(_STEPS, 12)), _ROWS) - 1
_FACTORS = _RANDOM.normal(size=(_STEPS, 12, _DIM)).astype(np.float32)


def _sgd(decay: float) -> Rule:
    return lambda w, g, s, t: w - 0.1 * (g + decay * w)


def _adagrad(outside: float, inside: float) -> Rule:
    def rule(w: Array, g: Array, s: dict[str, Array], t: int) -> Array:
        s["a"] = s["a"] + g * g
        return w - 0.1 * g / (np.sqrt(s["a"] + inside) + outside)

    return rule


def _adagrad_decay(w: Array, g: Array, s: dict[str, Array], t: int) -> Array:
    behind = s["p"] < t // 3
    s["a"] = np.where(behind, np.maximum(s["a"] * 0.5, 0.2), s["a"]) + g * g
    s["p"] = s["p"] + behind
    return w - 0.1 * g / np.sqrt(s["a"])


def _lazy_adam(decay: float, beta1: float = 0.8) -> Rule:
    def rule(w: Array, g: Array, s: dict[str, Array], t: int) -> Array:
        s["m"] = beta1 * s["m"] + (1 - beta1) * g
        s["v"] = 0.95 * s["v"] + 0.05 * g * g
        rate = 0.1 * np.sqrt(1 - 0.95**t) / (1 - beta1**t)
        return w - 0.1 * decay * w - rate * s["m"] / (np.sqrt(s["v"]) + 1e-5)

    return rule


def _group_ftrl(w: Array, g: Array, s: dict[str, Array], t: int) -> Array:
    l1, l2, shrinkage, beta = 0.4, 0.02, 0.03, 0.1
    more = s["n"] + g * g
    s["z"] = s["z"] + g + 2 * shrinkage * w - (np.sqrt(more) - np.sqrt(s["n"])) / 0.1 * w
    s["n"] = more
    q = np.sqrt(more) / 0.1 + 2 * (l2 + beta / (2 * 0.1))
    size = np.linalg.norm(s["z"], axis=1, keepdims=True)
    return np.where(size > l1, -s["z"] * (1 - l1 / np.maximum(size, l1)) / q, 0.0)


_FTRL = {
    "l1_regularization_strength": 0.4,
    "l2_regularization_strength": 0.02,
    "l2_shrinkage_regularization_strength": 0.03,
    "beta": 0.1,
}
_ADAM = {"beta1": 0.8, "beta2": 0.95, "epsilon": 1e-5}

#: What makes the optimizer, its formula and what its slots start with.
_CASES: dict[str, tuple[Callable[[Any], Any], Rule, dict[str, float]]] = {
    "sgd": (lambda step: gradient_descent.create_hash_optimizer(0.1), _sgd(0.0), {}),
    "sgd_decay": (lambda step: gradient_descent.create_hash_optimizer(0.1, weight_decay=0.01), _sgd(0.01), {}),
    "adagrad": (lambda step: adagrad.create_hash_optimizer(0.1, epsilon=0.01), _adagrad(0.01, 0), {"a": 0.9}),
    "adagrad_decay": (
        lambda step: adagrad_decay.create_hash_optimizer(0.1, step, 0.2, 3, 0.5),
        _adagrad_decay,
        {"a": 0.2, "p": 0},
    ),
    "lazy_adam": (lambda step: lazy_adam.create_hash_optimizer(0.1, **_ADAM), _lazy_adam(0), {"m": 0, "v": 0}),
    "adamw": (lambda step: adamw.create_hash_optimizer(0.1, 0.05, **_ADAM), _lazy_adam(0.05), {"m": 0, "v": 0}),
    "lazy_adam_beta1_0": (
        lambda step: lazy_adam.create_hash_optimizer(0.1, **{**_ADAM, "beta1": 0}),
        _lazy_adam(0, 0),
        {"m": 0, "v": 0},
    ),
    "adamw_beta1_0": (
        lambda step: adamw.create_hash_optimizer(0.1, 0.05, **{**_ADAM, "beta1": 0.0}),
        _lazy_adam(0.05, 0),
        {"m": 0, "v": 0},
    ),
    "group_ftrl": (
        lambda step: ftrl.create_hash_optimizer(0.1, group_lasso=True, **_FTRL),
        _group_ftrl,
        {"n": 0.1, "z": 0},
    ),
}

_CASES_BY_ADDRESS: dict[str, tuple[Callable[[Any], Any], Rule, dict[str, float]]] = {
    "sgd": (lambda step: gradient_descent_by_addr.create_hash_optimizer_by_addr(0.1), _sgd(1e-4), {}),
    "adagrad": (
        lambda step: adagrad_by_addr.create_hash_optimizer_by_address(0.1),
        _adagrad(0, 1e-7),
        {"a": 0.9},
    ),
    "lazy_adam": (
        lambda step: lazy_adam_by_addr.create_hash_optimizer_by_address(0.1, **_ADAM),
        _lazy_adam(0),
        {"m": 0, "v": 0},
    ),
}


def _wanted(rule: Rule, starts: dict[str, float], start: Array) -> Array:
    """Train in numpy with the gradients that `_loss` has: those of equal ids are summed, one update of each row."""
    w = start.astype(np.float64)
    slots = {name: np.full_like(w, value) for name, value in starts.items()}
    for t, (ids, factors) in enumerate(zip(_IDS, _FACTORS, strict=True), start=1):
        g = np.zeros_like(w)
        np.add.at(g, ids, factors + w[ids])
        hit = np.unique(ids)
        touched = {name: slot[hit] for name, slot in slots.items()}
        w[hit] = rule(w[hit], g[hit], touched, t)
        for name, slot in slots.items():
            slot[hit] = touched[name]
    return w


def _loss(rows: tf.Tensor, factors: Any) -> tf.Tensor:
    return tf.reduce_sum(rows * factors) + tf.reduce_sum(rows**2) / 2


def _close(got: Array, wanted: Array, start: Array) -> None:
    np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)
    hit = np.unique(_IDS)
    rest = np.setdiff1d(np.arange(_ROWS), hit)
    assert len(rest) > 2
    np.testing.assert_array_equal(got[rest], start[rest])


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("case", _CASES)
def test_by_key(case: str) -> None:
    make, rule, starts = _CASES[case]
    table, step = make_table(dim=_DIM), v1.train.get_or_create_global_step()
    ids, factors = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, _DIM])
    train = make(step).minimize(_loss(runtime.sparse_lookup(table, ids), factors), global_step=step)
    with session() as opened:
        start = rows_of(opened, table, range(_ROWS))
        for batch, values in zip(_IDS, _FACTORS, strict=True):
            opened.run(train, {ids: batch, factors: values})
        got = rows_of(opened, table, range(_ROWS))
        assert opened.run(table.size()) == len(np.unique(_IDS))
    _close(got, _wanted(rule, starts, start), start)


@pytest.fixture
def expanding() -> Iterator[None]:
    """`init(use_dynamic_expansion=True)` around a test."""
    runtime.init(use_dynamic_expansion=True)
    yield
    if config.current() is not None:
        runtime.terminate_config_initializer()


@pytest.mark.usefixtures("expanding", "graph")
@pytest.mark.parametrize("case", _CASES_BY_ADDRESS)
def test_by_address(case: str) -> None:
    make, rule, starts = _CASES_BY_ADDRESS[case]
    table, step = make_table(dim=_DIM), v1.train.get_or_create_global_step()
    ids, factors = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, _DIM])
    loss = _loss(runtime.sparse_lookup(table, ids), factors)
    rows, addresses = v1.get_collection(LOCAL_EMB), v1.get_collection(ID_OFFSET)
    train = make(step).apply_gradients(zip(tf.gradients(loss, rows), addresses, strict=True), global_step=step)
    with session() as opened:
        start = rows_of(opened, table, range(_ROWS))
        for batch, values in zip(_IDS, _FACTORS, strict=True):
            opened.run(train, {ids: batch, factors: values})
        got = rows_of(opened, table, range(_ROWS))
    _close(got, _wanted(rule, starts, start), start)


@pytest.mark.usefixtures("graph")
def test_an_optimizer_that_tensorflow_has_not_has_its_formula_here() -> None:
    step = v1.train.get_or_create_global_step()
    compared = {rule.name for rule in UPDATE_RULES.values() if rule.stock}
    compared |= {make(step).rule for make, _, _ in _CASES.values()}
    lacking = []
    for module in pkgutil.iter_modules(optimizers.__path__):
        create = getattr(importlib.import_module(f"{optimizers.__name__}.{module.name}"), "create_hash_optimizer", None)
        if create is not None:
            needed = {"global_step": step} if "global_step" in inspect.signature(create).parameters else {}
            lacking += [module.name] if create(0.1, **needed).rule not in compared else []
    assert not lacking, "give each a row of `_CASES`; or name the stock optimizer with its steps in `UPDATE_RULES`"


def test_adagrad_decay_gives_the_losses_of_deeprecs_test() -> None:
    table = make_table(dim=3, initializer=tf.ones_initializer())
    step = tf.Variable(0, dtype=tf.int64)
    optimizer = adagrad_decay.create_hash_optimizer(0.1, step, 0.1, accumulator_decay_step=2)
    losses = []
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([0, 1, 2, 5, 6, 7])) * 2.0)
        losses.append(float(loss))
        optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)], global_step=step)
    np.testing.assert_allclose(losses, [36.0, 32.444176, 29.847788, 27.74195, 25.852505], rtol=1e-6)


@pytest.mark.parametrize("traced", [False, True])
def test_a_schedule_in_eager_mode_counts_its_own_steps(traced: bool) -> None:
    schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay([0, 1], [1.0, 0.5, 0.25])
    table, optimizer = make_table(dim=1), gradient_descent.create_hash_optimizer(schedule)

    def one() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([1])))
        optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])

    run = tf.function(one) if traced else one
    values = [float(runtime.sparse_lookup(table, [1], is_train=False)[0, 0])]
    for _ in range(3):
        run()
        values.append(float(runtime.sparse_lookup(table, [1], is_train=False)[0, 0]))
    np.testing.assert_allclose(-np.diff(values), [1.0, 0.5, 0.25], rtol=1e-5)
