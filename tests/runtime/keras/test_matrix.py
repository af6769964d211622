"""`embeddings` of the layer over a table, beside the variable of the stock layer."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

keras: Any = tf.keras
ROWS = np.random.default_rng(1).normal(size=(6, 3)).astype(np.float32)
LEGACY = not hasattr(keras, "Variable")


def layers() -> tuple[Any, Any]:
    """The stock layer and that of the runtime, with the same rows."""
    from runtime.keras import Embedding

    stock, table = keras.layers.Embedding(6, 3), Embedding(6, 3)
    for layer in (stock, table):
        layer.build((None,))
        layer.set_weights([ROWS])
    return stock, table


USES = {
    "numpy": lambda m: m.numpy(),
    "an array": np.asarray,
    "float64": lambda m: np.asarray(m, np.float64),
    "a product": lambda m: tf.matmul(tf.ones([2, 3]), m, transpose_b=True),
    "an operator": lambda m: 2 * m + m / 2 - m,
    "from the right": lambda m: np.ones([2, 6], np.float32) @ m,
    "a comparison": lambda m: m > 0,
    "equality": lambda m: m == m[0],
    "a slice": lambda m: m[1:, 0],
    "a row": lambda m: m[2],
    "a sum": tf.reduce_sum,
    "rows by ids": lambda m: tf.gather(m, [[1, 5]]),
    "a lookup": lambda m: tf.nn.embedding_lookup(m, [3]),
    "identity": tf.identity,
    "in a list": lambda m: tf.concat([tf.zeros([1, 3]), m], 0),
    "numpy's": lambda m: np.concatenate([m, np.zeros([1, 3])]),
    "its value": lambda m: tf.reduce_sum(m.value() if LEGACY else m.value),
    "its shape": lambda m: np.asarray(tuple(m.shape)),
    "its size": lambda m: np.asarray([len(m.shape), m.shape[0], m.shape[-1]]),
    "the shape as a tensor": tf.shape,
    "top scores": lambda m: tf.math.top_k(tf.linalg.matvec(m, tf.ones([3])), 2).indices,
    "in a function": lambda m: tf.function(lambda: tf.matmul(m, m, transpose_b=True))(),
}
if not LEGACY:
    USES |= {
        "keras.ops": lambda m: keras.ops.matmul(keras.ops.ones((2, 3)), keras.ops.transpose(m)),
        "an array of keras.ops": lambda m: keras.ops.convert_to_numpy(m),
        "rows of keras.ops": lambda m: keras.ops.take(m, [1, 2], axis=0),
        "a variable of it": lambda m: keras.Variable(m).numpy(),
        "a layer": lambda m: keras.layers.Dot(1)([m, keras.ops.ones((6, 3))]),
    }


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_it_is_used_as_the_variable(use: Any) -> None:
    stock, table = layers()
    np.testing.assert_allclose(use(table.embeddings), use(stock.embeddings), rtol=1e-6)


def test_it_is_read_where_it_is_used() -> None:
    _, table = layers()
    matrix = table.embeddings
    total = tf.function(lambda: tf.reduce_sum(matrix))
    total()
    table.set_weights([2 * ROWS])
    np.testing.assert_allclose(total(), 2 * ROWS.sum(), rtol=1e-5)
    np.testing.assert_allclose(matrix.numpy(), 2 * ROWS)
    assert len(table.get_weights()[0].keys) == 6


def test_a_gradient_through_it_raises() -> None:
    _, table = layers()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(table.embeddings) + tf.reduce_sum(table(tf.constant([1])))
    with pytest.raises(LookupError, match="trainable=True"):
        tape.gradient(loss, table.trainable_variables)


def test_what_a_table_cannot_do_raises() -> None:
    from runtime.keras import Embedding

    _, table = layers()
    with pytest.raises(AttributeError, match="has no `embeddings` before it is built"):
        Embedding(6, 3).embeddings  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no `assign`.*set_weights"):
        table.embeddings.assign(ROWS)
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.deepcopy(table.embeddings)
    with pytest.raises(ValueError, match="are float32, not float16"):
        tf.convert_to_tensor(table.embeddings, tf.float16)
    with pytest.raises(RuntimeError, match=r"outside of a tf\.function"):
        tf.function(lambda: tf.constant(table.embeddings.numpy()))()
    assert "6 x 3" in repr(table.embeddings)
