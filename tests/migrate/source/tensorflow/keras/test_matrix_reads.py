"""Reads of `layer.embeddings`: exact as an array, else under an assumption, or a reason to stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from migrate.report.model import Applicability, State
from tests.support.source.converting import converted, reasons, stays

tf = pytest.importorskip("tensorflow")

HEAD = """
import keras
import numpy as np
import tensorflow as tf
"""
LAYER = "item = keras.layers.Embedding(9, 4, embeddings_initializer='ones')\n"
END = "model = keras.Sequential([item, keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
MODEL = """
class Tower(keras.Model):
    def __init__(self):
        super().__init__()
        self.user = keras.layers.Embedding(7, 4, embeddings_initializer="ones")
        self.item = keras.layers.Embedding(9, 4, embeddings_initializer="ones")
        self.head = keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, ids, training=False):
        user = self.user(ids[:, 0])
        result = {"rating": self.head(user * self.item(ids[:, 1]))}
        if True:
            result["top"] = tf.matmul(user, self.item.embeddings, transpose_b=True)
        return result

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return tf.reduce_mean((y - y_pred["rating"]) ** 2)

model = Tower()
model.compile(keras.optimizers.Adam(0.05))
"""
EXACT = {
    "numpy": LAYER + END + "np.save('rows', item.embeddings.numpy())\n",
    "an array": LAYER + END + "rows = np.asarray(item.embeddings)\n",
    "its shape": LAYER + END + "print(item.embeddings.shape, item.embeddings.dtype)\n",
    "by get_layer": LAYER + END + "rows = model.get_layer('i').embeddings.numpy()\n",
    "by its place": LAYER + END + "rows = model.layers[0].embeddings.numpy()\n",
}
PERHAPS = {
    "a product": LAYER + END + "best = tf.matmul(q, item.embeddings, transpose_b=True)\n",
    "a slice": LAYER + END + "tail = item.embeddings[1:]\n",
    "a name": LAYER + END + "rows = item.embeddings\nbest = tf.matmul(q, rows, transpose_b=True)\n",
    "in the model": MODEL,
    "in a tape": LAYER + END + "with tf.GradientTape() as tape:\n    loss = tf.reduce_sum(item.embeddings)\n",
    "given to code that is not seen": LAYER + "import lib\nlib.score(item.embeddings)\n" + END,
    "in a dict": LAYER + END + "parts = {'rows': item.embeddings}\n",
    "its name": LAYER + END + "names = {item.embeddings.name: 1}\n",
}
NEVER = {
    "assigned to a part": LAYER + END + "item.embeddings[0].assign(row)\n",
    "assigned": LAYER + END + "item.embeddings.assign(rows)\n",
    "assigned by a name": LAYER + END + "rows = item.embeddings\nrows.assign(zeros)\n",
    "assigned to a row": LAYER + END + "item.embeddings.scatter_nd_update(ids, rows)\n",
    "replaced": LAYER + END + "item.embeddings = other\n",
    "a gradient's source": LAYER + END + "with tf.GradientTape() as tape:\n    loss = model(x)\n"
    "gradient = tape.gradient(loss, item.embeddings)\n",
    "watched": LAYER + END + "with tf.GradientTape() as tape:\n    tape.watch(item.embeddings)\n    loss = model(x)\n",
    "the backend's value": LAYER + END + "rows = keras.backend.get_value(item.embeddings)\n",
}  # fmt: skip


@pytest.mark.parametrize("text", EXACT.values(), ids=EXACT)
def test_a_read_as_an_array_is_exact(text: str) -> None:
    result = converted(HEAD + text)
    assert {one.applicability for one in result.tables} == {Applicability.EXACT}, reasons(result)


@pytest.mark.parametrize("text", PERHAPS.values(), ids=PERHAPS)
def test_a_read_that_a_loss_may_depend_on_needs_an_assumption(text: str) -> None:
    result = converted(HEAD + text)
    verdicts = {one.name: one.verdict for one in result.tables}
    assert verdicts.get("item", verdicts.get("self.item")) is State.SUGGESTED, verdicts
    assert "no loss depends on the whole matrix" in reasons(result)
    assert all(one.verdict is State.APPLIED for one in converted(HEAD + text, assume=True).tables)


@pytest.mark.parametrize("text", NEVER.values(), ids=NEVER)
def test_a_use_of_the_variable_itself_keeps_the_layer(text: str) -> None:
    stays(HEAD + text, "whole [rows, dim] matrix", assume=True)


FIT = "model.fit(ids, labels, batch_size=8, shuffle=False, verbose=0)\n"


def run(text: str) -> dict[str, Any]:
    ids = np.random.default_rng(1).integers(0, 7, size=(32, 2))
    space: dict[str, Any] = {
        "__name__": "model",
        "ids": ids,
        "labels": np.linspace(0, 1, 32, dtype=np.float32)[:, None],
    }
    exec(compile(text, "model.py", "exec"), space)
    return space


def test_a_loss_of_the_matrix_raises() -> None:
    text = converted(HEAD + MODEL.replace('y_pred["rating"]', 'y_pred["top"]') + FIT, assume=True).converted
    with pytest.raises(Exception, match=r"all_rows of the table .* has no gradient"):
        run(text)
