"""Keras `Embedding` layers that code of version 1 calls on tensors of its graph: they become tables of the graph."""

from __future__ import annotations

import pytest

from tests.support.source.converting import STEP, converted, reasons
from tests.support.source.scripts import HEAD, TRAIN, compare

tf = pytest.importorskip("tensorflow")
LEGACY = not hasattr(tf.keras, "Variable")

FED = 'i = tf.placeholder(tf.int64, [None])\nnames = ["a", "b"]\n'
LAYER = 'tf.keras.layers.Embedding(9, 4, name="u")'
EMB, CALL = f"emb = {LAYER}\n", "e = emb(i)\n"
CLASS = (
    "class Model:\n    def __init__(self):\n        self.emb = tf.keras.layers.Embedding(9, 4)\n"
    "    def rows(self, x):\n        return self.emb(x)\ne = Model().rows(i)\n"
)
OPENED = "with tf.Graph().as_default():\n    i = tf.placeholder(tf.int64, [None])\n    {0}e = emb(i)\n"
EACH = "sum(W[n](i) for n in names)\n"
FORWARD = f"def rows(layer, x):\n    return layer(x)\ne = rows({LAYER}, i)\n"
#: Name -> code that makes layers and calls them, and how many creations there are.
MOVES = {
    "called twice": (EMB + CALL + "e += emb(inputs=i)\n", 1),
    "where it is made": (f"e = {LAYER}(i)\n", 1),
    "an attribute": (CLASS, 1),
    "a dict": ("W = {n: tf.keras.layers.Embedding(9, 4, name=n) for n in names}\ne = " + EACH, 1),
    "a parameter": (FORWARD, 1),
    "imported": ("from tensorflow.keras.layers import Embedding\nemb = Embedding(9, 4, 'zeros')\n" + CALL, 1),
    "in the graph of its call": (OPENED.format(EMB + "    "), 1),
}
TEXTS = {
    "uniform": "tf.random_uniform_initializer(-0.05, 0.05)",
    "RandomNormal": "tf.random_normal_initializer(stddev=0.05)",
    "glorot_uniform": "tf.glorot_uniform_initializer()",
    "he_normal": "tf.truncated_normal_initializer(stddev=0.5359",
}
MODEL = "class Model(tf.keras.{0}):\n    def __init__(self):\n        self.emb = " + LAYER
CALLS = "\n    def call(self, x):\n        return self.emb(x)\ne = Model()(i)\n"
OPTION = EMB.replace("4,", "4, {0},") + CALL
ESTIMATOR = (
    CLASS.replace("rows(self, x)", "model_fn(self, features, labels, mode)").replace("(x)\ne =", "(features)\nm =")
    + "tf.estimator.Estimator(Model().model_fn)\n"
)
#: Name -> code of which no layer moves, and what is said about it.
STAYS = {
    "its matrix is used": (EMB + CALL + "y = tf.matmul(e, emb.embeddings, transpose_b=True)\n", "`emb.embeddings` is"),
    "its weights are listed": (EMB + CALL + "y = tf.nn.l2_loss(emb.trainable_weights[0])\n", "emb.trainable_weights"),
    "it is handed on": (EMB + CALL + "use(emb)\n", "`emb` is not a lookup"),
    "a mask": (OPTION.format("mask_zero=True"), "its mask goes to"),
    "a regularizer": (OPTION.format("embeddings_regularizer=tf.keras.regularizers.l2(0.1)"), "whole matrix"),
    "a matrix": (OPTION.format("weights=[matrix]"), "are a matrix"),
    "ids that it casts": ("x = tf.placeholder(tf.float32, [None])\n" + EMB + "e = emb(x)\n", "not integers"),
    "positions": (EMB + "e = emb(tf.range(9))\n", "of positions stays dense"),
    "another graph": (EMB + OPENED.format(""), "called in another graph"),
    "another graph of an Estimator": (ESTIMATOR, "called in another graph"),
    "a model of Keras": (MODEL.format("Model") + CALLS, "runs the model in a v1 graph"),
    "a layer of layers": (MODEL.format("layers.Layer") + CALLS, "runs the model in a v1 graph"),
    "a sequence": (EMB + "e = tf.keras.Sequential([emb])(i)\n", "runs the model in a v1 graph"),
    "another layer of that name": (EMB + "if big:\n    emb = tf.keras.layers.Dense(4)\n" + CALL, "more than once"),
    "another layer in the dict": (
        f'W = {{"a": {LAYER}, "b": tf.keras.layers.Dense(4)}}\ne = ' + EACH, "is also kept there"),
    "another layer for the parameter": (
        FORWARD + "e += rows(tf.keras.layers.Dense(4), i)\n", "is also passed there"),
    "read by its name": (EMB + CALL + "g.get_tensor_by_name('u/embeddings:0')\n", "reads this variable by its name"),
    "read by Keras' name": (
        (EMB + CALL).replace(', name="u"', "") + "g.get_tensor_by_name('embedding/embeddings:0')\n", "by its name"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "tables"), MOVES.values(), ids=MOVES)
def test_layers_of_a_graph_become_tables(code: str, tables: int) -> None:
    result = converted(HEAD + FED + code + STEP)
    assert [table.verdict.value for table in result.tables] == ["applied"] * tables, reasons(result)
    assert "sparse_lookup(" in result.converted
    assert not converted(result.converted).changed


@pytest.mark.parametrize(("code", "said"), STAYS.values(), ids=STAYS)
def test_these_layers_stay(code: str, said: str) -> None:
    result = converted(HEAD + FED + code + STEP, assume=True)
    assert not result.changed
    assert said in reasons(result)


def test_the_default_and_the_name_of_the_layer_are_written_out() -> None:
    for given, wanted in TEXTS.items():
        text = converted(HEAD + FED + OPTION.format(f'embeddings_initializer="{given}"') + STEP).converted
        assert f'name="u_embeddings", device_vocabulary_size=9,\n                   emb_initializer={wanted}' in text
    assert (
        f"emb_initializer={TEXTS['uniform']})\ne = sparse_lookup(emb, i)\n"
        in converted(HEAD + FED + EMB + CALL + STEP).converted
    )


@pytest.mark.skipif(not LEGACY, reason="layers of Keras 3 are not called in v1 graphs")
def test_layers_train_as_before() -> None:
    """A layer that is called twice, one made where it is called, and one of a dict."""
    ones, half = "'ones'", "tf.keras.initializers.Constant(0.5)"
    code = (
        "ids, other = tf.constant([1, 2, 1]), tf.constant([3, 1, 3])\n"
        f"layer = tf.keras.layers.Embedding(9, 4, {ones})\n"
        f"W = {{n: tf.keras.layers.Embedding(7, 4, embeddings_initializer={half}, name=n) for n in ('x', 'y')}}\n"
        "b = tf.get_variable('b', [4], initializer=tf.constant_initializer(0.25))\n"
        f"e = layer(ids) * layer(other) + tf.keras.layers.Embedding(9, 4, {half}, name='z')(ids) * b\n"
        "e += W['x'](ids) - W['y'](inputs=ids)\nloss = tf.reduce_sum(tf.square(e - 0.1))\n"
    )
    compare(HEAD + code + TRAIN.replace("show(s.run(loss))", "show(s.run(e))"), tables=3)
