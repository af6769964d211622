"""The optimizers that move every row at every step against stock's, on recorded gradients, with rows long untouched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

import runtime
from runtime.optimizers import adam, keras_adam, keras_adamw, keras_sgd

_ROWS, _DIM, _STEPS, _BATCH = 60, 4, 500, 12
_RATE = 0.05
Step = tuple[NDArray[Any], NDArray[Any]]

_CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "adam": (lambda rate: adam.create_hash_optimizer(rate), lambda rate: tf.compat.v1.train.AdamOptimizer(rate)),
    "keras_adam": (lambda rate: keras_adam.create_hash_optimizer(rate), lambda rate: tf.keras.optimizers.Adam(rate)),
    "keras_adamw": (
        lambda rate: keras_adamw.create_hash_optimizer(rate, weight_decay=0.01),
        lambda rate: tf.keras.optimizers.AdamW(rate, weight_decay=0.01),
    ),
    "keras_sgd": (
        lambda rate: keras_sgd.create_hash_optimizer(rate, momentum=0.9),
        lambda rate: tf.keras.optimizers.SGD(rate, momentum=0.9),
    ),
    "nesterov": (
        lambda rate: keras_sgd.create_hash_optimizer(rate, momentum=0.9, nesterov=True),
        lambda rate: tf.keras.optimizers.SGD(rate, momentum=0.9, nesterov=True),
    ),
}
#: Those without a stock optimizer beside them too.
_OURS = {case: ours for case, (ours, _) in _CASES.items()} | {
    "adam_scaled": lambda rate: adam.create_hash_optimizer(rate, epsilon=0.1, scaled_epsilon=True)
}


def _recorded(steps: int = _STEPS, seed: int = 1) -> list[Step]:
    """Ids with duplicates; the upper half of the rows comes about every hundred steps, a few only once."""
    random = np.random.default_rng(seed)
    result = []
    for number in range(steps):
        ids = random.zipf(1.5, _BATCH) % (_ROWS // 2)
        if number % 100 == 7:
            ids[:4] = _ROWS // 2 + random.integers(0, _ROWS // 2, 4)
        if number == 40:
            ids[:2] = _ROWS - 2, _ROWS - 1
        result.append((ids.astype(np.int64), random.normal(size=(_BATCH, _DIM)).astype(np.float32)))
    return result


def _table() -> Any:
    initializer = tf.keras.initializers.RandomNormal(seed=7)
    return runtime.create_table(key_dtype=tf.int64, dim=_DIM, name="deferred", emb_initializer=initializer)


def _read(table: Any, rows: int = _ROWS) -> NDArray[Any]:
    return np.asarray(runtime.sparse_lookup(table, np.arange(rows, dtype=np.int64), is_train=False))


def _slices(step: Step, rows: int) -> tf.IndexedSlices:
    return tf.IndexedSlices(tf.constant(step[1]), tf.constant(step[0]), tf.constant([rows, _DIM], tf.int64))


def _summed(step: Step) -> Step:
    """Sum the gradients of equal ids, as Keras 2 does itself; Keras 3 squares each."""
    ids, numbers = np.unique(step[0], return_inverse=True)
    values = np.zeros([len(ids), _DIM], np.float32)
    np.add.at(values, numbers, step[1])
    return ids, values


def _trainer(optimizer: Any, variable: Any, rows: int) -> Callable[[Step], Any]:
    """Return what applies one step, compiled once."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64), tf.TensorSpec([None, _DIM], tf.float32)])
    def apply(ids: tf.Tensor, values: tf.Tensor) -> None:
        slices = tf.IndexedSlices(values, ids, tf.constant([rows, _DIM], tf.int64))
        optimizer.apply_gradients([(slices, variable)])

    if not isinstance(optimizer, tf.compat.v1.train.Optimizer):
        optimizer.build([variable])
    return lambda step: apply(tf.constant(step[0]), tf.constant(step[1]))


def _oracle(case: str, initial: NDArray[Any], steps: list[Step]) -> NDArray[Any]:
    """The textbook in float64, with the constants rounded to float32 as stock does."""
    w = initial.astype(np.float64)
    m, v = np.zeros_like(w), np.zeros_like(w)
    rate, single = float(np.float32(_RATE)), lambda number: float(np.float32(number))
    rest1, rest2 = single(1 - 0.9), single(1 - 0.999)
    beta1, beta2 = single(0.9), single(0.999)
    if case in ("adam", "adam_scaled"):
        rest1, rest2 = 1 - beta1, 1 - beta2
    for number, (ids, values) in enumerate(steps, 1):
        g = np.zeros_like(w)
        np.add.at(g, ids, values.astype(np.float64))
        if case in ("keras_sgd", "nesterov"):
            m = single(0.9) * m - rate * g
            w = w + (single(0.9) * m - rate * g if case == "nesterov" else m)
            continue
        if case == "keras_adamw":
            w = w - w * single(0.01) * rate
        m, v = m - rest1 * m + rest1 * g, v - rest2 * v + rest2 * g * g
        size = rate * np.sqrt(1 - beta2**number) / (1 - beta1**number)
        epsilon = {"adam": 1e-8, "adam_scaled": 0.1 * np.sqrt(1 - beta2**number)}.get(case, 1e-7)
        w = w - size * m / (np.sqrt(v) + epsilon)
    return w


@pytest.mark.parametrize("case", _CASES)
@pytest.mark.one_case
def test_equal_to_stock_and_as_near_to_float64(case: str) -> None:
    make_ours, make_stock = _CASES[case]
    table, steps = _table(), _recorded()
    initial = _read(table)
    variable = tf.Variable(initial)
    ours, stock = _trainer(make_ours(_RATE), table.variable, 0), _trainer(make_stock(_RATE), variable, _ROWS)
    for number, step in enumerate(steps):
        ours(step)
        stock(_summed(step))
        if number in (2, 50, 499):
            bound = 1e-5 * np.abs(variable.numpy()).max()
            assert np.abs(_read(table) - variable.numpy()).max() <= bound, number
    exact = _oracle(case, initial, steps)
    assert np.abs(_read(table) - exact).max() <= 2 * np.abs(variable.numpy() - exact).max()
    assert np.abs(_read(table) - initial).min(axis=1).max() > 0.1  # so that the bound says something


def test_a_scaled_epsilon_is_the_papers_and_paddles() -> None:
    table, steps = _table(), _recorded()
    initial = _read(table)
    train = _trainer(_OURS["adam_scaled"](_RATE), table.variable, 0)
    for number, step in enumerate(steps, 1):
        train(step)
        if number in (3, 50, 1000):
            exact = _oracle("adam_scaled", initial, steps[:number])
            np.testing.assert_allclose(_read(table), exact, atol=1e-5 * np.abs(exact).max())
    plain = _oracle("adam", initial, steps)
    assert np.abs(exact - plain).max() > 0.1 * np.abs(plain).max()


@pytest.mark.parametrize("case", _CASES)
@pytest.mark.one_case
def test_a_schedule_is_followed_where_rows_rest(case: str) -> None:
    make_ours, make_stock = _CASES[case]
    schedule = tf.keras.optimizers.schedules.PiecewiseConstantDecay([20, 60], [0.05, 0.2, 0.01])
    table, steps = _table(), _recorded(150)
    variable = tf.Variable(_read(table))
    count = tf.Variable(0, dtype=tf.int64)
    stock_rate = (lambda: schedule(count)) if case == "adam" else schedule
    ours, stock = _trainer(make_ours(schedule), table.variable, 0), _trainer(make_stock(stock_rate), variable, _ROWS)
    for step in steps:
        ours(step)
        stock(_summed(step))
        count.assign_add(1)
    np.testing.assert_allclose(_read(table), variable.numpy(), atol=1e-5 * np.abs(variable.numpy()).max())


def test_unseen_keys_decay_as_the_rows_of_a_variable() -> None:
    table = _table()
    initial = _read(table)
    train = _trainer(keras_adamw.create_hash_optimizer(0.1, weight_decay=0.1), table.variable, 0)
    for _ in range(20):
        train((np.zeros(_BATCH, np.int64), np.ones([_BATCH, _DIM], np.float32)))
    np.testing.assert_allclose(_read(table)[1:], initial[1:] * 0.99**20, rtol=1e-6)
    inserted = runtime.sparse_lookup(table, np.array([5], np.int64))
    np.testing.assert_array_equal(inserted, _read(table)[5:6])


def test_a_weight_decay_of_everything_is_refused() -> None:
    table = _table()
    before = _read(table)
    optimizer = keras_adamw.create_hash_optimizer(2.0, weight_decay=0.5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be below 1"):
        optimizer.apply_gradients([(_slices(_recorded(1)[0], 0), table.variable)])
    np.testing.assert_array_equal(_read(table), before)


@pytest.mark.parametrize("module", [adam, keras_adam])
def test_a_first_beta_of_zero_trains_as_stock_does(module: Any) -> None:
    table = _table()
    reference = _read(table).astype(np.float64)
    squares = np.zeros_like(reference)
    name = "beta1" if module is adam else "beta_1"
    train = _trainer(module.create_hash_optimizer(_RATE, **{name: 0.0}, epsilon=1e-6), table.variable, 0)
    for number, (ids, values) in enumerate(_recorded(40), 1):
        train((ids, values))
        g = tf.math.unsorted_segment_sum(values, ids, _ROWS).numpy().astype(np.float64)
        squares = 0.999 * squares + 0.001 * g * g
        reference -= _RATE * np.sqrt(1 - 0.999**number) * g / (np.sqrt(squares) + 1e-6)
    np.testing.assert_allclose(_read(table), reference, atol=2e-5)
