"""Reads of `layer.embeddings`: exact apart from training, else under an assumption, or a reason to stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from migrate.report.model import Applicability, State
from tests.support.source.converting import converted, reasons

tf = pytest.importorskip("tensorflow")

HEAD = """
import keras
import numpy as np
import tensorflow as tf
"""
LAYER = "item = keras.layers.Embedding(9, 4, embeddings_initializer='ones')\n"
BEST = "def best(q):\n    return tf.matmul(q, item.embeddings, transpose_b=True)\n\n"
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
        {guard}
            result["top"] = tf.matmul(user, self.item.embeddings, transpose_b=True)
        return result

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return tf.reduce_mean((y - y_pred["rating"]) ** 2)

model = Tower()
model.compile(keras.optimizers.Adam(0.05))
"""
LIBRARY = """
import keras_rs

class Tower(keras.Model):
    def __init__(self):
        super().__init__()
        self.item = keras.layers.Embedding(9, 4)
        self.best = keras_rs.layers.BruteForceRetrieval(k=3)

    def build(self, shape):
        self.item.build(shape)
        self.best.candidate_embeddings = self.item.embeddings
        self.best.build(shape)

    def call(self, ids, training=False):
        rows = self.item(ids)
        if not training:
            return self.best(rows)
        return rows

model = Tower()
model.compile(keras.optimizers.Adam(0.05), "mse")
"""


def guarded(guard: str) -> str:
    return MODEL.replace("{guard}", guard)


EXACT = {
    "numpy": LAYER + END + "np.save('rows', item.embeddings.numpy())\n",
    "an array": LAYER + END + "rows = np.asarray(item.embeddings)\n",
    "a product": LAYER + END + "best = tf.matmul(q, item.embeddings, transpose_b=True)\n",
    "of keras.ops": LAYER + END + "best = keras.ops.matmul(q, keras.ops.transpose(item.embeddings))\n",
    "an operator": LAYER + END + "unit = item.embeddings / tf.norm(item.embeddings, axis=1, keepdims=True)\n",
    "a slice": LAYER + END + "tail = item.embeddings[1:]\n",
    "its shape": LAYER + END + "print(item.embeddings.shape, item.embeddings.dtype)\n",
    "by get_layer": LAYER + END + "best = tf.matmul(q, model.get_layer('i').embeddings, transpose_b=True)\n",
    "by its place": LAYER + END + "rows = model.layers[0].embeddings.numpy()\n",
    "by a name": LAYER + END + "rows = item.embeddings\nbest = tf.matmul(q, rows, transpose_b=True)\n",
    "in a function": LAYER + END + BEST + "best(q)\n",
    "given to a function": LAYER + END
    + "def best(q, rows):\n    return tf.matmul(q, rows)\n\nbest(q, item.embeddings)\n",
    "not in training": guarded("if not training:"),
    "else": guarded("if training:\n            pass\n        else:"),
    "after training returned": guarded("if training:\n            return result\n        if True:"),
    "a layer of a library": LIBRARY,
    "a tape beside it": LAYER + END + "with tf.GradientTape() as tape:\n    loss = model(x)\n"
    "best = tf.matmul(q, item.embeddings, transpose_b=True)\n",
}  # fmt: skip
PERHAPS = {
    "a functional model": LAYER + END + "x = keras.Input((4,))\ny = keras.ops.matmul(x, item.embeddings)\n",
    "an output of the model": LAYER + END + "y = tf.matmul(model.output, item.embeddings)\n",
    "in training": guarded("if True:"),
    "only in training": guarded("if training:"),
    "another flag": guarded("if not self.training:"),
    "the flag is set": guarded("training = False\n        if not training:"),
    "a tape trains": guarded("if not training:") + "with tf.GradientTape() as tape:\n    loss = model(x)\n",
    "in a tape": LAYER + END + "with tf.GradientTape() as tape:\n    loss = tf.reduce_sum(item.embeddings)\n",
    "a function in a tape": LAYER + END + "def score(q):\n    return tf.matmul(q, item.embeddings)\n\n"
    "with tf.GradientTape() as tape:\n    loss = score(q)\n",
    "a function of a function in a tape": LAYER + END + "def score(q):\n    return tf.matmul(q, item.embeddings)\n\n"
    "def loss(q):\n    return score(q)\n\nwith tf.GradientTape() as tape:\n    found = loss(q)\n",
    "a tape that is entered": LAYER + END + "tape = tf.GradientTape()\ntape.__enter__()\n"
    "loss = tf.reduce_sum(item.embeddings)\n",
    "a loss": LAYER + END.replace("'mse'", "loss") .replace("model.compile", "def loss(y, p):\n"
    "    return tf.reduce_sum(tf.matmul(p, item.embeddings))\n\nmodel.compile"),
    "a lambda": LAYER + "score = keras.layers.Lambda(lambda q: tf.matmul(q, item.embeddings))\n" + END,
    "given to code that is not seen": LAYER + "import lib\nlib.score(item.embeddings)\n" + END,
    "a name for code that is not seen": LAYER + END + "rows = item.embeddings\n",
    "in a dict": LAYER + END + "parts = {'rows': item.embeddings}\n",
    "used in the model by a name": LAYER + "rows = item.embeddings\nclass Head(keras.layers.Layer):\n"
    "    def call(self, q):\n        return tf.matmul(q, rows)\n\n" + END,
    "a decorated function": LAYER + END + "import lib\n@lib.trained\n" + BEST,
    "a function that is handed on": LAYER + END + "import lib\n" + BEST + "lib.train(best)\n",
    "the library's layer in training": LIBRARY.replace("if not training:", "if True:"),
    "the library's layer handed on": LIBRARY.replace("self.best.build(shape)", "share(self.best)"),
    "the library's matrix read again": LIBRARY.replace(
        "        return rows\n", "        return tf.matmul(rows, self.best.candidate_embeddings)\n"
    ),
    "another library's layer": LIBRARY.replace("keras_rs.layers.BruteForceRetrieval", "keras_rs.layers.Other"),
}  # fmt: skip
NEVER = {
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
def test_a_read_apart_from_training_is_exact(text: str) -> None:
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
    result = converted(HEAD + text, assume=True)
    assert not result.changed
    assert "whole [rows, dim] matrix" in reasons(result)


FIT = """
model.fit(ids, labels, batch_size=8, shuffle=False, verbose=0)
top = model.predict(ids, verbose=0)["top"]
rows = model.item.embeddings.numpy()
"""


def run(text: str) -> dict[str, Any]:
    ids = np.random.default_rng(1).integers(0, 7, size=(32, 2))
    space: dict[str, Any] = {
        "__name__": "model",
        "ids": ids,
        "labels": np.linspace(0, 1, 32, dtype=np.float32)[:, None],
    }
    exec(compile(text, "model.py", "exec"), space)
    return space


def test_scores_of_all_items_are_those_of_the_trained_rows() -> None:
    text = HEAD + guarded("if not training:") + FIT
    changed = converted(text).converted
    assert "runtime.keras" in changed
    want, got = run(text), run(changed)
    np.testing.assert_allclose(got["top"], want["top"], rtol=1e-5)
    np.testing.assert_allclose(got["rows"], want["rows"], rtol=1e-5)
    assert not np.allclose(want["rows"][0], want["rows"][8])  # row 8 is not trained


def test_a_loss_of_the_matrix_raises() -> None:
    text = converted(
        HEAD + guarded("if True:").replace('y_pred["rating"]', 'y_pred["top"]') + FIT, assume=True
    ).converted
    with pytest.raises(Exception, match="is for evaluation"):
        run(text)
