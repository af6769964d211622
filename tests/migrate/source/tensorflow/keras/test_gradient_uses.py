"""What a training loop of one's own does with single gradients: some uses make that of a table dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.source.converting import converted, reasons, stays

APPLY = "opt.apply_gradients(zip(grads, model.trainable_variables))"
PROGRAM = """
import tensorflow as tf

class Tower(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = tf.keras.layers.Embedding(50, 4, embeddings_initializer="ones")
        self.unused = tf.keras.layers.Embedding(50, 4)
        self.head = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, ids):
        return self.head(self.emb(ids) * self.emb(ids + 2))

model = Tower()
opt = tf.keras.optimizers.Adagrad(0.1)

def halved(g):
    return 0.5 * g

def step(x, y):
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean((model(x, training=True)[:, 0] - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    BODY
    return loss
"""
SAME = {
    "as they are": APPLY,
    "by their norm": f"grads, norm = tf.clip_by_global_norm(grads, 0.5)\n    {APPLY}",
    "each": f"grads = [None if g is None else tf.clip_by_norm(g, 0.1) for g in grads]\n    {APPLY}",
    "by value": f"grads = [None if g is None else tf.clip_by_value(g, -0.01, 0.01) for g in grads]\n    {APPLY}",
    "twice": f"{APPLY}\n    {APPLY}",
    "of a persistent tape": f"more = tape.gradient(loss, model.trainable_variables)\n    {APPLY}",
    "with a shape that is printed": f"print(grads[0].shape)\n    {APPLY}",
    "counted": f"n, norm = len(grads), tf.linalg.global_norm(grads)\n    {APPLY}",
}
DENSE = {
    "a sum": "grads = [tf.add_n([g, g]) for g in grads]",
    "a choice": "grads = [tf.where(tf.math.is_nan(g), 0.0, g) for g in grads]",
    "a product": "grads = [g * 0.5 for g in grads]",
    "a difference": "grads = [g - 1e-3 for g in grads]",
    "in a function": "grads = [halved(g) for g in grads]",
    "after clipping": "grads, _ = tf.clip_by_global_norm(grads, 1.0)\n    grads = [tf.divide(g, 2.0) for g in grads]",
    "a norm": "norms = [tf.norm(g) for g in grads]",
    "a sum that is printed": "print([float(tf.reduce_sum(g)) for g in grads])",
    "a summary": "for g in grads:\n        tf.summary.histogram('g', g)",
    "another library": "grads = [hvd.allreduce(g) for g in grads]",
    "an accumulator": "for total, g in zip(totals, grads):\n        total.assign_add(g)",
}
SHAPES = {
    "of its rows": "rate = 0.1 / float(grads[0].dense_shape[0])",
    "in a choice": "grads = [g for g in grads if g is None or g.shape[0] > 40]",
    "by its method": "sizes = [g.get_shape()[0] for g in grads]",
}


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES)
def test_a_read_of_the_shape_of_a_gradient_keeps_the_layers(body: str) -> None:
    stays(PROGRAM.replace("BODY", f"{body}\n    {APPLY}"), "reads the shape of a gradient")


@pytest.mark.parametrize("body", DENSE.values(), ids=DENSE)
def test_a_gradient_that_is_made_dense_keeps_the_layers(body: str) -> None:
    stays(PROGRAM.replace("BODY", f"{body}\n    {APPLY}"), "makes a gradient dense")


@pytest.mark.parametrize("body", SAME.values(), ids=SAME)
def test_loops_that_keep_gradients_sparse_train_to_the_same_numbers(body: str) -> None:
    pytest.importorskip("tensorflow")
    random = np.random.default_rng(1)
    ids, labels = random.integers(0, 40, size=(20, 8)), random.random((20, 8)).astype(np.float32)
    text = PROGRAM.replace("BODY", body)
    assert converted(text).changed, reasons(converted(text))
    found = []
    for one in (text, converted(text).converted):
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(one, "model.py", "exec"), space)
        found.append([float(space["step"](*batch)) for batch in zip(ids, labels, strict=True)])
    assert abs(found[0][0] - found[0][-1]) > 1e-2
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
