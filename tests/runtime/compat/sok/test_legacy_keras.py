"""SOK 1.x: its layers as Keras layers, and Keras' legacy optimizers on them, beside stock variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import sok as facade
from runtime.compat.sok import forms

_keras: Any = tf.keras
_LEGACY: Any = getattr(_keras.optimizers, "legacy", None)
_ROWS = np.random.default_rng(1).normal(size=(8, 2)).astype(np.float32)
_MADE = {
    "adam": lambda: _LEGACY.Adam(0.1),
    "sgd": lambda: _LEGACY.SGD(0.1),
    "momentum": lambda: _LEGACY.SGD(0.1, momentum=0.9, nesterov=True),
    "adagrad": lambda: _LEGACY.Adagrad(0.1),
    "decayed": lambda: _LEGACY.Adam(0.1, decay=0.1),
}


@pytest.fixture(scope="module")
def sok() -> Iterator[Any]:
    """The façade, installed and begun."""
    facade.install()
    try:
        facade.Init(global_batch_size=4)
        yield facade
    finally:
        facade.uninstall()


@pytest.mark.skipif(hasattr(_keras, "Variable"), reason="Keras 3 has no legacy optimizers")
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", _MADE)
@pytest.mark.one_case
def test_legacy_optimizers_train_hash_tables_as_variables(sok: Any, name: str, traced: bool) -> None:
    layer = sok.All2AllDenseEmbedding(8, 2, 1, 2)
    layer.build()
    layer.embedding_variable.table.import_rows(np.arange(8), _ROWS)
    stock, dense = tf.Variable(_ROWS), [tf.Variable(0.5), tf.Variable(0.5)]
    ours, theirs = _MADE[name](), _MADE[name]()

    def step(ids: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(layer(ids, training=True)) * dense[0])
        tables, others = sok.split_embedding_variable_from_others([*layer.trainable_variables, dense[0]])
        grads = tape.gradient(loss, [*tables, *others])
        with sok.OptimizerScope(tables):
            ours.apply_gradients(zip(grads, [*tables, *others], strict=True))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(tf.nn.embedding_lookup(stock, ids)) * dense[1])
        theirs.apply_gradients(zip(tape.gradient(loss, [stock, dense[1]]), [stock, dense[1]], strict=True))

    run = tf.function(step) if traced else step
    for at in range(6):
        run(tf.constant([[[at % 8, (at * 3) % 8]], [[at % 8, 7]]], tf.int64))
    rows = layer(tf.range(8, dtype=tf.int64)[:, None, None] * tf.ones([1, 1, 2], tf.int64), training=False)
    np.testing.assert_allclose(rows[:, 0, 0], stock, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dense[0], dense[1], rtol=1e-5)


@pytest.mark.skipif(hasattr(_keras, "Variable"), reason="Keras 3 has no legacy optimizers")
def test_the_decay_of_a_legacy_optimizer_lowers_its_rate() -> None:
    optimizer = _LEGACY.SGD(0.1, decay=0.5)
    optimizer.iterations.assign(2)
    assert float(forms.form_of(optimizer).hyper[0]) == pytest.approx(0.05)


@pytest.mark.skipif(hasattr(_keras, "Variable"), reason="Keras 3 has no legacy optimizers")
def test_a_legacy_optimizer_without_a_form_is_an_error(sok: Any) -> None:
    layer = sok.All2AllDenseEmbedding(8, 2, 1, 1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant([[[1]]]), training=True))
    (variable,) = layer.trainable_variables
    with pytest.raises(TypeError, match=r"RMSprop cannot update the table .* sparsely: use SGD, Adagrad or Adam"):
        _LEGACY.RMSprop(0.1).apply_gradients([(tape.gradient(loss, variable), variable)])


@pytest.mark.skipif(hasattr(_keras, "Variable"), reason="layers of Keras 3 take tensors alone by position")
@pytest.mark.parametrize("traced", [False, True])
def test_layers_take_training_by_position(sok: Any, traced: bool) -> None:
    ids = tf.constant([[[3]], [[4]]], tf.int64)
    for layer in (
        sok.All2AllDenseEmbedding(100, 4, 1, 1),
        sok.TFDistributedEmbedding(100, 4),
        sok.DistributedEmbedding("sum", 100, 4, 1, 1),
    ):
        given = tf.sparse.from_dense(ids[:, 0]) if isinstance(layer, sok.DistributedEmbedding) else ids
        call = (
            tf.function(lambda layer, given: layer(given, True)) if traced else lambda layer, given: layer(given, True)
        )
        np.testing.assert_array_equal(call(layer, given), layer(given, training=False))


@pytest.mark.parametrize("hashes", [False, True])
def test_the_variable_of_a_layer_has_the_name_of_its_files(sok: Any, hashes: bool) -> None:
    layer = sok.All2AllDenseEmbedding(8, 2, 1, 1, use_hashtable=hashes, name=f"named_{hashes}")
    assert layer.embedding_variable.m_var_name == f"named_{hashes}"
