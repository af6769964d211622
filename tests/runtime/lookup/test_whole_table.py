"""Terms over all rows against stock TensorFlow, and penalties that take tables as well as variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

import runtime
from runtime.lookup.penalties import factors
from runtime.optimizers import adagrad, adam, ftrl, gradient_descent, momentum, rmsprop

v1 = tf.compat.v1
_ROWS, _DIM, _BATCH = 60, 4, 12
Array = NDArray[Any]
Step = dict[str, Array]

_CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sgd": (gradient_descent.create_hash_optimizer, v1.train.GradientDescentOptimizer),
    "momentum": (
        lambda rate: momentum.create_hash_optimizer(rate, momentum=0.9),
        lambda rate: v1.train.MomentumOptimizer(rate, 0.9),
    ),
    "nesterov": (
        lambda rate: momentum.create_hash_optimizer(rate, momentum=0.9, use_nesterov=True),
        lambda rate: v1.train.MomentumOptimizer(rate, 0.9, use_nesterov=True),
    ),
    "adagrad": (
        lambda rate: adagrad.create_hash_optimizer(rate, initial_accumulator_value=0.1),
        v1.train.AdagradOptimizer,
    ),
    "rmsprop": (
        lambda rate: rmsprop.create_hash_optimizer(rate, momentum=0.5),
        lambda rate: v1.train.RMSPropOptimizer(rate, momentum=0.5),
    ),
    "adam": (adam.create_hash_optimizer, v1.train.AdamOptimizer),
    "ftrl": (
        lambda rate: ftrl.create_hash_optimizer(rate, l1_regularization_strength=0.001),
        lambda rate: v1.train.FtrlOptimizer(rate, l1_regularization_strength=0.001),
    ),
}


def _steps(count: int) -> Iterator[Step]:
    """Zipf ids; the upper half of the rows comes about every hundred steps, the last ones once or never."""
    random = np.random.default_rng(1)
    for number in range(count):
        ids = random.zipf(1.5, _BATCH) % (_ROWS // 2)
        if number % 100 == 7:
            ids[:4] = _ROWS // 2 + random.integers(0, _ROWS // 2 - 6, 4)
        if number == 40:
            ids[:2] = _ROWS - 2, _ROWS - 1
        yield {
            "ids:0": ids.astype(np.int64),
            "labels:0": random.normal(size=_BATCH).astype(np.float32),
            "rate:0": np.float32(0.05 * 0.999**number),
        }


class _Model:
    """A model in a graph of its own, with a table (`initial` is None) or a variable."""

    def __init__(self, case: str, initial: Array | None = None, l1: float = 0.0, **options: Any) -> None:
        make_ours, make_stock = _CASES[case]
        with tf.Graph().as_default() as graph:
            ids = v1.placeholder(tf.int64, [_BATCH], "ids")
            labels = v1.placeholder(tf.float32, [_BATCH], "labels")
            rate = v1.placeholder(tf.float32, [], "rate")
            dense = v1.get_variable("dense", initializer=np.linspace(-1, 1, _DIM).astype(np.float32))
            if initial is None:
                starts = v1.random_normal_initializer(stddev=0.5, seed=7)
                table = runtime.create_table(key_dtype=tf.int64, dim=_DIM, name="table", emb_initializer=starts)
                rows, variable = runtime.sparse_lookup(table, ids), table.variable
                l2_norm = runtime.whole_table_l2(table, **options)
                l1_norm = runtime.whole_table_l1(table, **options) if l1 else 0.0
                self.all = runtime.sparse_lookup(table, np.arange(_ROWS), is_train=False)
            else:
                variable = v1.get_variable("table", initializer=initial, use_resource=True)
                rows, l2_norm = tf.nn.embedding_lookup(variable, ids), tf.nn.l2_loss(variable)
                l1_norm = tf.reduce_sum(tf.abs(variable)) if l1 else 0.0
                self.all = variable.read_value()
            loss = tf.reduce_mean(tf.square(tf.reduce_sum(rows * dense, 1) - labels))
            self.loss = loss + 0.01 * l2_norm + l1 * l1_norm
            stock = make_stock(rate)
            if initial is None:
                of_dense, of_rows = tf.gradients(self.loss, [dense, variable])
                ours = make_ours(rate).apply_gradients([(of_rows, variable)])
                self.step = tf.group(ours, stock.apply_gradients([(of_dense, dense)]))
            else:
                self.step = stock.minimize(self.loss)
            self.dense, self.saver = dense, v1.train.Saver()
            self.session = v1.Session(graph=graph)
            self.session.run(v1.global_variables_initializer())

    def train(self, step: Step) -> float:
        return float(self.session.run([self.loss, self.step], step)[0])

    def values(self) -> tuple[Array, Array]:
        rows, dense = self.session.run([self.all, self.dense])
        return rows, dense


def _assert_equal(ours: _Model, stock: _Model, bound: float = 1e-5) -> None:
    for one, other in zip(ours.values(), stock.values(), strict=True):
        assert np.abs(one - other).max() <= bound * np.abs(other).max()


@pytest.mark.parametrize("case", _CASES)
@pytest.mark.one_case
def test_rows_and_dense_weights_are_those_of_stock(case: str) -> None:
    ours = _Model(case, every=10**9)  # its rows are only read when the batch needs them
    initial = ours.values()[0]
    stock = _Model(case, initial)
    for number, step in enumerate(_steps(600)):
        ours.train(step)
        stock.train(step)
        if number in (2, 50, 599):
            _assert_equal(ours, stock)
    assert np.abs(ours.values()[0] - initial).max(axis=1).min() > 0.01  # every row moved, those never looked up too


def test_a_checkpoint_has_all_steps_and_new_rows_take_those_before_it(tmp_path: Path) -> None:
    ours = _Model("momentum")
    stock = _Model("momentum", ours.values()[0])
    steps = list(_steps(300))
    for step in steps[:150]:
        ours.train(step)
        stock.train(step)
    again = _Model("momentum")
    with ours.session.graph.as_default():
        path = ours.saver.save(ours.session, str(tmp_path / "model"))
    with again.session.graph.as_default():
        again.saver.restore(again.session, path)
    _assert_equal(again, stock, 1e-6)
    for step in steps[150:]:
        again.train(step)
        stock.train(step)
    _assert_equal(again, stock)


def test_eager_and_tf_function() -> None:
    starts = tf.keras.initializers.RandomNormal(stddev=0.5, seed=7)
    table = runtime.create_table(key_dtype=tf.int64, dim=_DIM, name="eager", emb_initializer=starts)
    variable = tf.Variable(runtime.sparse_lookup(table, np.arange(_ROWS), is_train=False))
    ours, stock = adagrad.create_hash_optimizer(0.1, 0.1), v1.train.AdagradOptimizer(0.1)

    def step(ids: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.reduce_sum(runtime.sparse_lookup(table, ids), 1) - labels) ** 2)
            loss += 0.1 * runtime.whole_table_l2(table, size=_ROWS)
        ours.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
        return loss

    def stock_step(ids: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.reduce_sum(tf.gather(variable, ids), 1) - labels) ** 2)
            loss += 0.1 * tf.nn.l2_loss(variable)
        gradient = tape.gradient(loss, variable)
        stock.apply_gradients([(tf.convert_to_tensor(gradient), variable)])
        return loss

    compiled = tf.function(step)
    for number, feed in enumerate(_steps(40)):
        batch = tf.constant(feed["ids:0"]), tf.constant(feed["labels:0"])
        found = (compiled if number % 2 else step)(*batch)
        assert float(found) == pytest.approx(float(stock_step(*batch)), rel=1e-5)
    rows = runtime.sparse_lookup(table, np.arange(_ROWS), is_train=False)
    np.testing.assert_allclose(rows, variable.numpy(), atol=1e-5)


def test_clipping_by_a_norm_is_refused() -> None:
    table = runtime.create_table(key_dtype=tf.int64, dim=_DIM, name="clipped", emb_initializer=tf.zeros_initializer())
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(runtime.sparse_lookup(table, [1, 2])) + 0.1 * runtime.whole_table_l2(table)
    gradient = tape.gradient(loss, table.variable)
    (by_norm,), _ = tf.clip_by_global_norm([gradient], 1.0)
    by_value = tf.IndexedSlices(tf.clip_by_value(gradient.values, -1.0, 1.0), gradient.indices)
    before = runtime.sparse_lookup(table, [1, 2], is_train=False)
    alone = tf.clip_by_norm(gradient, 1.0)  # its norm is infinite, so that all rows of the gradient become 0
    for clipped in (by_norm, by_value, alone):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'clipped' was clipped"):
            gradient_descent.create_hash_optimizer(0.1).apply_gradients([(clipped, table.variable)])
    np.testing.assert_array_equal(before, runtime.sparse_lookup(table, [1, 2], is_train=False))


def test_arguments_are_checked() -> None:
    table = runtime.create_table(key_dtype=tf.int64, dim=_DIM, name="checked", emb_initializer=tf.zeros_initializer())
    with pytest.raises(ValueError, match="`every`"):
        runtime.whole_table_l2(table, every=0)
    with pytest.raises(ValueError, match="`size`"):
        runtime.whole_table_l1(table, size=0)


@pytest.mark.parametrize("config", [{"access_threshold": 2}, {"access_probability": 0.5}])
def test_keys_that_wait_for_rows_are_refused(graph: tf.Graph, config: dict[str, Any]) -> None:
    tables = [
        runtime.create_table(key_dtype=tf.int64, dim=_DIM, name=name, emb_initializer=tf.zeros_initializer())
        for name in ("first", "second")
    ]
    runtime.sparse_lookup(tables[0], [1], access_and_evict_config=config)
    with pytest.raises(ValueError, match=r"`first` cannot have a term over all rows: .* counted keys, admission"):
        runtime.whole_table_l2(tables[0], size=_ROWS)
    runtime.whole_table_l2(tables[1], size=_ROWS)
    with pytest.raises(ValueError, match="`second` has a term over all rows, so each of its keys needs a row: leave"):
        runtime.sparse_lookup(tables[1], [1], access_and_evict_config=config)
    runtime.sparse_lookup(tables[1], [1], access_and_evict_config={"access_probability": 1.0})


KEY = v1.GraphKeys.REGULARIZATION_LOSSES


def _made(name: str = "table", rows: int = 5) -> runtime.Table:
    return runtime.create_table(
        key_dtype=tf.int64, dim=3, name=name, emb_initializer=tf.constant_initializer(-2.0), device_vocabulary_size=rows
    )


def l1_regularizer(scale: float) -> Callable[[Any], Any]:
    """As `tf.contrib.layers` makes it."""

    def l1(weights: Any, name: str | None = None) -> Any:
        return scale * tf.reduce_sum(tf.abs(weights), name=name)

    return l1


def l2_regularizer(scale: float) -> Callable[[Any], Any]:
    """As `tf.contrib.layers` makes it."""

    def l2(weights: Any) -> Any:
        return scale * tf.nn.l2_loss(weights)

    return l2 if scale else lambda _: None


def sum_regularizer(regularizer_list: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """As `tf.contrib.layers` makes it."""

    def sum_reg(weights: Any) -> Any:
        tensors = [one(weights) for one in regularizer_list]
        return tf.add_n([tensor for tensor in tensors if tensor is not None])

    return sum_reg


REGULARIZERS = {
    "l1": tf.keras.regularizers.L1(0.5),
    "l2": tf.keras.regularizers.L2(0.25),
    "both": tf.keras.regularizers.L1L2(0.5, 0.25),
    "contrib's l1": l1_regularizer(0.5),
    "contrib's l2": l2_regularizer(0.25),
    "contrib's sum": sum_regularizer([l1_regularizer(0.5), l2_regularizer(0.25)]),
    "contrib's sum of one": sum_regularizer([l1_regularizer(0.5), l2_regularizer(0.0)]),
}


def test_a_table_has_the_norms_of_the_variable_in_whose_place_it_is() -> None:
    table, matrix = _made(), tf.fill([5, 3], -2.0)
    assert float(runtime.l2_loss(table)) == float(runtime.l2_loss(matrix)) == float(tf.nn.l2_loss(matrix))
    assert float(runtime.l1_norm(table)) == float(runtime.l1_norm(matrix)) == 30
    assert table.name == "table:0"


@pytest.mark.parametrize("regularizer", REGULARIZERS.values(), ids=REGULARIZERS)
def test_a_regularizer_of_a_table_is_that_of_its_matrix(regularizer: Callable[[Any], Any]) -> None:
    wanted = float(regularizer(tf.fill([5, 3], -2.0)))
    assert float(runtime.penalty(regularizer, _made())) == pytest.approx(wanted)
    assert float(runtime.penalty(regularizer, tf.fill([5, 3], -2.0))) == pytest.approx(wanted)


@pytest.mark.parametrize("other", [lambda rows: tf.reduce_max(rows), np.max, None])
def test_another_regularizer_is_named(other: Any) -> None:
    assert factors(other) is None
    with pytest.raises(ValueError, match="the table `table` supports L1, L2 and L1L2 of Keras"):
        runtime.penalty(other, _made())


def test_the_losses_of_a_graph_have_the_penalty_of_a_table_once() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        with v1.variable_scope("s", reuse=v1.AUTO_REUSE):
            first, again = (runtime.regularized(_made(), REGULARIZERS["both"]) for _ in range(2))
        assert first is again
        other = runtime.regularized(_made("other"), None)
        assert runtime.regularized(other, l2_regularizer(0.0)) is other
        assert runtime.penalty(l2_regularizer(0.0), other) is None
        [loss] = v1.get_collection(KEY)
        session.run(v1.global_variables_initializer())
        assert session.run(loss) == pytest.approx(0.5 * 30 + 0.25 * 60)


def test_an_eager_table_has_no_losses_of_a_graph() -> None:
    with pytest.raises(ValueError, match="only graphs collect regularization losses"):
        runtime.regularized(_made(), REGULARIZERS["l2"])
