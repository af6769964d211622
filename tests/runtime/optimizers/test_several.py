"""Several optimizers of one table, each with slots of its own, against stock TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

import runtime
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.moves.tables_to_variables import Back, move_tables
from runtime.checkpoint.rows import read_rows, slot_names
from runtime.optimizers import adagrad, adam, ftrl, gradient_descent, momentum

v1 = tf.compat.v1
_ROWS, _DIM, _STEPS = 40, 6, 300
Array = NDArray[Any]
#: A table's optimizer and stock's, by name.
_MAKERS: dict[str, tuple[Callable[[float], Any], Callable[[float], Any]]] = {
    "sgd": (gradient_descent.create_hash_optimizer, v1.train.GradientDescentOptimizer),
    "adam": (adam.create_hash_optimizer, v1.train.AdamOptimizer),
    "adagrad": (lambda rate: adagrad.create_hash_optimizer(rate, 0.1), v1.train.AdagradOptimizer),
    "momentum": (
        lambda rate: momentum.create_hash_optimizer(rate, momentum=0.9),
        lambda rate: v1.train.MomentumOptimizer(rate, 0.9),
    ),
    "ftrl": (ftrl.create_hash_optimizer, v1.train.FtrlOptimizer),
}
_PAIRS = [
    ("sgd", "adam"),
    ("adam", "adam"),
    ("adagrad", "adagrad"),
    ("ftrl", "adam"),
    ("momentum", "adagrad"),
    ("adam", "adam", "sgd", "adagrad"),
]


def _turns(step: int, count: int) -> list[int]:
    return [step % count]


def _late(step: int, count: int) -> list[int]:
    """The last optimizer alone for a hundred steps; then the others join it."""
    return [count - 1 if step < 100 or step % 3 else step % count]


def _at_once(step: int, count: int) -> list[int]:
    return list(range(count))


def _table(dim: int) -> Any:
    zeros = tf.constant_initializer(0.0)
    return runtime.create_table(tf.int64, tf.TensorShape([dim]), "w", zeros, device_vocabulary_size=_ROWS)


def _train(
    is_table: bool, kinds: Sequence[str], l2: float, order: Callable[[int, int], list[int]], folder: Path
) -> list[Array]:
    """Return all rows, which begin as zeros, at some steps; the state is saved and restored once between."""
    starts = np.random.default_rng(0).normal(0, 0.3, [_ROWS, _DIM]).astype(np.float32)
    with tf.Graph().as_default():
        ids, labels = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, _DIM])
        if is_table:
            table = _table(_DIM)
            rows, variable = runtime.sparse_lookup(table, ids), table.variable
            term = runtime.whole_table_l2(table, size=_ROWS) if l2 else 0.0
        else:
            variable = v1.get_variable("w", [_ROWS, _DIM], initializer=v1.zeros_initializer(), use_resource=True)
            rows, term = tf.gather(variable, ids), tf.nn.l2_loss(variable) if l2 else 0.0
        model = rows + tf.gather(starts, ids)
        losses = [tf.reduce_mean(tf.square(model - labels)), tf.reduce_sum(tf.abs(model - 2 * labels))]
        steps = [
            _MAKERS[kind][not is_table](0.05 / (1 + number)).minimize(
                losses[number % 2] + l2 * term, var_list=[variable]
            )
            for number, kind in enumerate(kinds)
        ]
        saver, random, seen = v1.train.Saver(), np.random.default_rng(5), []
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for step in range(_STEPS):
                batch = (0 if step % 7 else 20) + random.integers(0, 18, 9)  # two rows never come
                feed = {ids: batch, labels: random.normal(size=[9, _DIM])}
                session.run([steps[number] for number in order(step, len(steps))], feed)
                if step == 150:
                    path = saver.save(session, str(folder / "saved"))
                    session.run(v1.global_variables_initializer())
                    saver.restore(session, path)
                if step % 50 == 0 or step == _STEPS - 1:
                    seen.append(session.run(rows, {ids: np.arange(_ROWS)}))
    return seen


@pytest.mark.parametrize("kinds", _PAIRS, ids="+".join)
@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize("order", [_at_once, _turns, _late])
@pytest.mark.one_case
def test_each_has_its_slots(
    kinds: Sequence[str], l2: float, order: Callable[[int, int], list[int]], tmp_path: Path
) -> None:
    stock, moved = (_train(is_table, kinds, l2, order, tmp_path) for is_table in (False, True))
    np.testing.assert_allclose(np.stack(moved), np.stack(stock), rtol=0, atol=1e-5)


def test_a_checkpoint_names_the_slots_of_each(tmp_path: Path) -> None:
    _train(True, ("adam", "adagrad"), 0.0, _turns, tmp_path)
    rows = read_rows(Bundle(tmp_path / "saved"), "w")
    assert (rows.optimizer, slot_names(rows)) == ("adam+adagrad", ("m", "v", "accumulator_1"))
    assert rows.slots.shape[1] == 3 * _DIM
    with pytest.raises(CheckpointError, match=r"`w` has slots of several optimizers, adam\+adagrad, which"):
        move_tables(tmp_path / "saved", tmp_path / "back", [Back("w", "w", (_ROWS, _DIM))])


def test_one_optimizer_that_trains_twice_has_one_set(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        table = _table(2)
        loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([1, 2], tf.int64)))
        optimizer = adam.create_hash_optimizer(0.1)
        steps = [optimizer.minimize(loss), optimizer.minimize(2 * loss)]
        meta = table.snapshot()[3]
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for step in steps:
                session.run(step)
            assert session.run(meta)[3] == 2


def test_a_graph_has_a_limit() -> None:
    with tf.Graph().as_default():
        table = _table(2)
        loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([1, 2], tf.int64)))
        for _ in range(8):
            adam.create_hash_optimizer(0.1).minimize(loss)
        with pytest.raises(ValueError, match="the table `w` has 8 optimizers in this graph: use one of them again"):
            adam.create_hash_optimizer(0.1).minimize(loss)


def _eager(is_table: bool, functions: bool) -> tuple[Any, Callable[[Any, int], None], Callable[[], Array]]:
    """Return a table or variable, a step on it by an optimizer, and what reads its rows."""
    wrap = tf.function if functions else lambda step: step
    trained = _table(_DIM) if is_table else tf.Variable(tf.zeros([_ROWS, _DIM]))
    anchor = trained.variable if is_table else trained

    def rows(ids: Any) -> tf.Tensor:
        return runtime.sparse_lookup(trained, ids) if is_table else tf.gather(trained, ids)

    def make(optimizer: Any) -> Any:
        @wrap
        def step(ids: tf.Tensor) -> None:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((rows(ids) - tf.cast(ids, tf.float32)[:, None]) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, anchor), anchor)])

        return step

    steps: dict[int, Any] = {}

    def step(optimizer: Any, number: int) -> None:
        ids = np.random.default_rng(number).integers(0, 9, 6)
        steps.setdefault(id(optimizer), make(optimizer))(tf.constant(ids, tf.int64))

    rows(tf.range(9, dtype=tf.int64))
    return trained, step, lambda: rows(tf.range(9, dtype=tf.int64)).numpy()


@pytest.mark.parametrize("functions", [False, True])
@pytest.mark.parametrize(
    "kinds", ["adam adam adam", "adagrad adagrad", "adam adagrad momentum", "adam sgd adam", "sgd adam sgd sgd"]
)
def test_an_optimizer_that_follows_another_in_eager_mode_starts_anew(kinds: str, functions: bool) -> None:
    def trained(is_table: bool) -> list[Array]:
        _, step, read = _eager(is_table, functions)
        seen, optimizers = [], [_MAKERS[kind][not is_table](0.1) for kind in kinds.split()]
        for phase, optimizer in enumerate(optimizers):
            for number in range(5):
                step(optimizer, 5 * phase + number)
            seen.append(read())
        return seen

    np.testing.assert_allclose(trained(True), trained(False), rtol=0, atol=1e-6)


@pytest.mark.parametrize("functions", [False, True])
def test_an_optimizer_whose_slots_are_gone_does_not_return(functions: bool) -> None:
    _, step, read = _eager(True, functions)
    first, second = (_MAKERS["adam"][0](0.1) for _ in range(2))
    for number, optimizer in enumerate((first, first, second)):
        step(optimizer, number)
    before = read()
    with pytest.raises(tf.errors.InvalidArgumentError, match="'w' has slots for one optimizer, and another one has"):
        step(first, 3)
    np.testing.assert_array_equal(read(), before)
    step(second, 4)
