"""SparseTensors in the layer of Keras 2, against the stock layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
pytestmark = pytest.mark.skipif(hasattr(K, "Variable"), reason="the layer of Keras 3 takes no SparseTensor")
_ROWS = np.arange(40, dtype=np.float32).reshape(10, 4)
IDS = {
    "absent ids": tf.sparse.from_dense(np.array([[0, 1, 0], [2, 0, 3]])),
    "an empty row": tf.sparse.from_dense(np.array([[0, 0, 0], [2, 0, 3]])),
    "three dimensions": tf.SparseTensor([[0, 0, 1], [1, 1, 0]], np.array([5, 0]), [2, 2, 2]),
    "an id below 0": tf.SparseTensor([[0, 0], [1, 1]], np.array([-1, 7]), [2, 2]),
    "numbers": tf.sparse.from_dense(np.array([[0.0, 1.0], [2.0, 0.0]])),
}


def _layer(kind: Any, **settings: Any) -> Any:
    layer = kind(10, 4, **settings)
    layer.build(None)
    layer.set_weights([_ROWS])
    return layer


def _trained(layer: Any, ids: Any) -> Any:
    @tf.function  # type: ignore[untyped-decorator]
    def gradient() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids, training=True) * tf.constant([1.0, 2.0, 3.0, 4.0]))
        return tape.gradient(loss, layer.trainable_variables)[0]

    found = gradient()
    return tf.scatter_nd(found.indices[:, None], found.values, [10, 4]) if hasattr(found, "indices") else found


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_absent_ids_read_and_train_the_row_of_0(ids: tf.SparseTensor) -> None:
    ours, stock = _layer(runtime.keras.Embedding), _layer(K.layers.Embedding)
    np.testing.assert_array_equal(ours(ids), stock(ids))
    np.testing.assert_allclose(_trained(ours, ids), tf.convert_to_tensor(_trained_stock(stock, ids)))


def _trained_stock(layer: Any, ids: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ids) * tf.constant([1.0, 2.0, 3.0, 4.0]))
    return tape.gradient(loss, layer.trainable_variables)[0]


@pytest.mark.parametrize("ids", [IDS["absent ids"], tf.constant([0, 0, 2])], ids=["sparse", "dense"])
def test_sparse_rows(ids: Any) -> None:
    got, want = (_layer(kind, sparse=True)(ids) for kind in (runtime.keras.Embedding, K.layers.Embedding))
    np.testing.assert_array_equal(tf.sparse.to_dense(got), tf.sparse.to_dense(want))
    np.testing.assert_array_equal(got.indices, want.indices)


def test_arguments_of_the_stock_layer() -> None:
    with pytest.raises(ValueError, match="`mask_zero` cannot be enabled when"):
        runtime.keras.Embedding(3, 2, sparse=True, mask_zero=True)
    layer = _layer(runtime.keras.Embedding, use_one_hot_matmul=True)
    np.testing.assert_array_equal(layer(tf.constant([3])), _ROWS[3:4])
    assert layer.compute_output_shape((None, 2)).as_list() == [None, 2, 4]


def test_a_model_of_sparse_inputs_trains_to_the_same_numbers() -> None:
    losses, dense = [], np.array([[0, 1, 5], [2, 0, 3], [0, 0, 9], [4, 4, 1]])
    for kind in (runtime.keras.Embedding, K.layers.Embedding):
        ids = K.Input([3], dtype="int64", sparse=True)
        rows = K.layers.Lambda(lambda rows: tf.reshape(rows, [-1, 12]))(_layer(kind)(ids))
        model = K.Model(ids, K.layers.Dense(1, kernel_initializer=K.initializers.Constant(0.01))(rows))
        model.compile(K.optimizers.Adam(0.01), "mse")
        data = tf.data.Dataset.from_tensor_slices((tf.sparse.from_dense(dense), np.ones([4, 1]))).batch(2)
        losses.append(model.fit(data, epochs=2, verbose=0).history["loss"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
