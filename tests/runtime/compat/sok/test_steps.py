"""A `sok.OptimizerWrapper` counts its own steps: what it wraps may train dense variables by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import sok

v1: Any = tf.compat.v1
keras: Any = tf.keras.optimizers
_LEGACY = getattr(keras, "legacy", None) if not hasattr(tf.keras, "Variable") else None


def _decayed() -> Any:
    return tf.keras.optimizers.schedules.ExponentialDecay(0.1, 1, 0.5)


_MADE: dict[str, Callable[[], Any] | None] = {
    "Adam": lambda: keras.Adam(0.1),
    "Adamax": lambda: keras.Adamax(0.1),
    "schedule": lambda: keras.SGD(_decayed()),
    "legacy Adam": (lambda: _LEGACY.Adam(0.1)) if _LEGACY else None,
    "legacy schedule": (lambda: _LEGACY.Adam(_decayed())) if _LEGACY else None,
    "AdamOptimizer": lambda: v1.train.AdamOptimizer(0.1),
    "LazyAdam": lambda: sok.LazyAdamOptimizer(0.1),
}


@pytest.fixture(autouse=True)
def _begun() -> None:
    sok.init(use_legacy_optimizer=False)


def _loss(rows: tf.Tensor, weights: tf.Variable, target: float) -> tf.Tensor:
    return tf.reduce_sum((rows * weights - target) ** 2)


class _Program:
    """Rows of a table and dense weights, trained by a wrapper and by the optimizer that it wraps."""

    def __init__(self, name: str, static: bool = False) -> None:
        made = _MADE[name]
        assert made is not None
        self.optimizer = made()
        self.wrapper = sok.OptimizerWrapper(self.optimizer)
        self.table = sok.Variable(np.ones([4, 2], np.float32)) if static else sok.DynamicVariable(2, "1")
        self.weights = tf.Variable([1.0, 1.0])

    def step(self, target: tf.Tensor) -> None:
        """Train once, as NVIDIA's own tests do."""
        with tf.GradientTape() as tape:
            loss = _loss(sok.all2all_dense_embedding(self.table, tf.range(4)), self.weights, target)
        of_rows, of_weights = tape.gradient(loss, [self.table, self.weights])
        self.wrapper.apply_gradients([(of_rows, self.table)])
        self.optimizer.apply_gradients([(of_weights, self.weights)])

    def found(self) -> tuple[np.ndarray, np.ndarray]:
        return sok.all2all_dense_embedding(self.table, tf.range(4)).numpy(), self.weights.numpy()


def _stock(name: str, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The same by TensorFlow's variables and an optimizer for each."""
    made = _MADE[name]
    assert made is not None
    first, second = made(), made()
    rows, weights = tf.Variable(tf.ones([4, 2])), tf.Variable([1.0, 1.0])
    for step in range(steps):
        with tf.GradientTape() as tape:
            loss = _loss(tf.convert_to_tensor(rows), weights, float(step))
        of_rows, of_weights = tape.gradient(loss, [rows, weights])
        first.apply_gradients([(of_rows, rows)])
        second.apply_gradients([(of_weights, weights)])
    return rows.numpy(), weights.numpy()


def _same(found: tuple[np.ndarray, np.ndarray], want: tuple[np.ndarray, np.ndarray]) -> None:
    for one, other in zip(found, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6)


@pytest.mark.parametrize("name", ["Adam" if hasattr(tf.keras, "Variable") else "legacy Adam", "AdamOptimizer"])
def test_static_variables_and_tables_of_a_wrapper_make_one_step_together(name: str) -> None:
    if hasattr(tf.keras, "Variable"):
        pytest.skip("Keras 3 builds an optimizer for the variables of its first step")
    program, other = _Program(name, static=True), sok.DynamicVariable(2, "1")
    for number in range(5):
        with tf.GradientTape() as tape:
            rows = [sok.all2all_dense_embedding(one, tf.range(4)) for one in (program.table, other)]
            loss = sum(_loss(one, program.weights, float(number)) for one in rows)
        *of_rows, of_weights = tape.gradient(loss, [program.table, other, program.weights])
        program.wrapper.apply_gradients(zip(of_rows, (program.table, other), strict=True))
        program.optimizer.apply_gradients([(of_weights / 2, program.weights)])
    want = _stock(name, 5)
    _same(program.found(), want)
    np.testing.assert_allclose(other.sparse_read(tf.range(4)), want[0], rtol=2e-6)


@pytest.mark.parametrize("kept", ["wrapper", "optimizer"])
@pytest.mark.parametrize("name", ["Adam", "AdamOptimizer"])
def test_checkpoints_of_either_keep_both_counts(name: str, kept: str, tmp_path: Path) -> None:
    program = _Program(name)
    for number in range(3):
        program.step(tf.constant(float(number)))
    program.step(tf.constant(3.0))
    extra = {"dense": program.weights, "it": getattr(program, kept)}
    path = tf.train.Checkpoint(**extra).write(str(tmp_path / "kept"))
    # In a new process: what makes the wrapper's variables comes after the checkpoint was restored.
    other = _Program(name)
    restored = tf.train.Checkpoint(dense=other.weights, it=getattr(other, kept)).read(path)
    gradient = tf.IndexedSlices(tf.zeros([1, 2]), tf.constant([0], tf.int64))
    other.optimizer.apply_gradients([(tf.zeros([2]), other.weights)])
    for _ in range(2):
        other.wrapper.apply_gradients([(gradient, other.table)])
    restored.assert_existing_objects_matched()
    if name == "Adam":
        assert (int(other.optimizer.iterations), int(other.wrapper.iterations)) == (5, 6)
    else:
        powers = {float(power) for power in other.wrapper.variables if "beta1" in power.name}
        np.testing.assert_allclose(sorted(powers), [0.9**7, 0.9**6], rtol=1e-5)


def test_no_gradient_is_no_step_and_unknown_arguments_are_errors() -> None:
    program = _Program("Adam")
    assert program.wrapper.apply_gradients([(None, program.table)]) is None
    assert int(program.wrapper.iterations) == 0
    gradient = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0], tf.int64))
    with pytest.raises(TypeError, match="has no argument 'decay_var_list'"):
        program.wrapper.apply_gradients([(gradient, program.table)], decay_var_list=[])
    with pytest.raises(TypeError, match="has no argument 'odd'"):
        program.wrapper.minimize(lambda: tf.reduce_sum(program.table.sparse_read([0])), [program.table], odd=1)
    program.wrapper.learning_rate = 0.5
    assert float(program.optimizer.learning_rate) == float(program.wrapper.lr) == 0.5
