"""Lookups in loops of a `tf.function`: a gradient leaves the loop, or is taken inside of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras
from runtime import _tf_private_tapes

K = tf.keras
_RANDOM = np.random.default_rng(5)
_IDS, _LABELS = _RANDOM.integers(0, 30, (24, 4)), _RANDOM.normal(size=(24, 1)).astype(np.float32)
_ROWS = _RANDOM.normal(size=(40, 4)).astype(np.float32)


class Over(K.layers.Layer):  # type: ignore[misc,name-defined]
    """Sums the rows of the columns of its input, in a loop that AutoGraph makes."""

    def __init__(self, kind: str, layer: Any) -> None:
        super().__init__()
        self.kind, self.rows = kind, layer(40, 4)
        self.rows.build(None)
        self.rows.set_weights([_ROWS])

    def call(self, ids: Any) -> Any:
        total = tf.zeros([tf.shape(ids)[0], 4])
        if self.kind == "for":
            for at in tf.range(tf.shape(ids)[1]):
                total += self.rows(ids[:, at]) * tf.cast(at + 1, tf.float32)
        elif self.kind == "while":
            at = 0
            while at < tf.shape(ids)[1]:
                total += self.rows(ids[:, at])
                at += 2
        elif self.kind == "a branch in a loop in a loop":
            for _ in tf.range(2):
                for at in tf.range(2):
                    if at > 0:
                        total += self.rows(ids[:, at])
                    else:
                        total -= 2.0 * self.rows(ids[:, 3])
        else:
            total += tf.reduce_sum(tf.map_fn(self.rows, ids, fn_output_signature=tf.float32), 1) + self.rows(ids[:, 0])
        return total


def _fit(kind: str, layer: Any, optimizer: Any, **settings: Any) -> Any:
    head = K.layers.Dense(1, kernel_initializer=K.initializers.Constant(0.3))
    model = K.Sequential([K.Input((4,), dtype="int64"), Over(kind, layer), head])
    model.compile(optimizer, "mse", **settings)
    model.fit(_IDS, _LABELS, batch_size=6, epochs=2, shuffle=False, verbose=0)
    return model.predict(_IDS, verbose=0)


@pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 builds a layer of its own without AutoGraph")
@pytest.mark.parametrize("kind", ["for", "while", "a branch in a loop in a loop", "map_fn and outside"])
@pytest.mark.parametrize("optimizer", [lambda: K.optimizers.Adam(0.05), lambda: K.optimizers.SGD(0.001, momentum=0.9)])
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.one_case
def test_a_loop_that_autograph_makes_trains(kind: str, optimizer: Any, steps: int) -> None:
    got, want = (
        _fit(
            kind,
            layer,
            optimizer(),
            steps_per_execution=steps,
        )
        for layer in (runtime.keras.Embedding, K.layers.Embedding)
    )
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_a_variable_in_a_loop_gets_the_gradient_of_its_rows() -> None:
    ours = runtime.keras.table_variable(tf.keras.initializers.Constant(0.5), [9, 2], "looped")
    stock = tf.Variable(tf.fill([9, 2], 0.5))

    @tf.function  # type: ignore[untyped-decorator]
    def gradient(variable: Any) -> Any:
        with tf.GradientTape() as tape:
            total = tf.zeros([2])
            for at in tf.range(3):
                total += tf.gather(variable, at * 2) ** 2.0
            loss = tf.reduce_sum(total)
        return tape.gradient(loss, variable)

    found = gradient(ours)
    assert isinstance(found, tf.IndexedSlices)
    dense = tf.scatter_nd(found.indices[:, None], found.values, [9, 2])
    np.testing.assert_array_equal(dense, tf.convert_to_tensor(gradient(stock)))


def test_a_loop_of_training_steps_looks_up_the_rows_of_the_batch_alone() -> None:
    layer, optimizer = runtime.keras.Embedding(1000, 4), K.optimizers.SGD(0.1)
    layer.build(None)
    optimizer.build(layer.trainable_variables)

    @tf.function  # type: ignore[untyped-decorator]
    def train(ids: Any) -> None:
        for at in tf.range(3):
            with tf.GradientTape() as tape:
                assert _tf_private_tapes.around_loops() is None
                loss = tf.reduce_sum(layer(ids[at], training=True) ** 2)
            weights = layer.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    train(tf.constant([[1, 2], [2, 3], [4, 999_999]]))
    assert sorted(layer.table.snapshot()[0].numpy()) == [1, 2, 3, 4, 999_999]
