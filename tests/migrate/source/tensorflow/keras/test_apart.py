"""Reads of `layer.embeddings` that a gradient reaches by a way that is easy to miss: never exact."""

from __future__ import annotations

import pytest

from migrate.report.model import Applicability
from tests.support.source.converting import converted

LOOP = """
import contextlib
import operator
import tensorflow as tf
import keras

item = keras.layers.Embedding(9, 4)
IDS = tf.constant([[1, 2]])

class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.item = item

    def call(self, ids):
        return self.item(ids)

net = Net()
optimizer = keras.optimizers.SGD(0.1)

def score(rows):
    return tf.matmul(rows, item.embeddings, transpose_b=True)

{before}

with {tape} as tape:
    loss = tf.reduce_sum(net(IDS, training=True)) + {loss}
optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""
SCORER = "class Scorer:\n    def {name}:\n        return tf.matmul(rows, item.embeddings, transpose_b=True)\n"
TAPES = {
    "another name": ("from tensorflow import GradientTape as Tape", "Tape()"),
    "a context": (
        "@contextlib.contextmanager\ndef tapes():\n    with tf.GradientTape() as one:\n        yield one", "tapes()",
    ),
}  # fmt: skip
WAYS = {
    "an operator": (SCORER.format(name="__matmul__(self, rows)"), "Scorer() @ IDS"),
    "getattr": (SCORER.format(name="go(self, rows)"), "getattr(Scorer(), 'go')(IDS)"),
    "a text": (SCORER.format(name="on_x(self, rows)"), "getattr(Scorer(), 'on_' + 'x')(IDS)"),
    "a method caller": (SCORER.format(name="go(self, rows)"), "operator.methodcaller('go', IDS)(Scorer())"),
    "a base": (SCORER.format(name="_score(self, rows)").replace("rer:", "rer(keras.layers.Dot):"), "Scorer(1)(IDS)"),
    "a generator": ("def rows():\n    yield item.embeddings[0]\nlazy = rows()", "next(lazy)"),
    "an expression": ("lazy = (item.embeddings[one] for one in range(3))", "next(lazy)"),
}  # fmt: skip
MODEL = """
import tensorflow as tf
import keras

class Tower(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.item = keras.layers.Embedding(9, 4)

    def call(self, ids, training=False):
        rows = self.item(ids)
        if not training:
            return tf.matmul(rows, self.item.embeddings, transpose_b=True)
        return rows

class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.tower = Tower()
        self.towers = [self.tower]
        self.lookup = keras.layers.Lambda(lambda ids: self.tower(ids, training={in_lambda}))
        self.flag = False

    def call(self, ids, training=False):
        return {call}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return {loss}

def loss(y, rows):
    return {closure}

model = Model()
model.compile("sgd", loss)
"""
PLAIN = {"call": "self.tower(ids)", "loss": "0.0", "closure": "tf.reduce_sum(rows)", "in_lambda": "True"}
CALLS = {
    "another flag": {"call": "self.tower(ids, training=False)"},
    "in its place": {"call": "self.tower(ids, False)"},
    "a setting in its place": {"call": "self.tower(ids, self.flag)"},
    "of many": {"call": "self.towers[0](ids, False)"},
    "a turned flag": {"call": "self.tower(ids, training=not training)"},
    "by keywords": {"call": "self.tower(ids, **{'training': False})"},
    "call itself": {"call": "self.tower.call(ids)"},
    "in a loss": {"loss": "tf.reduce_sum(self.tower(x))"},
    "in a closure": {"closure": "tf.reduce_sum(model.tower(y))"},
    "in a closure, with a flag": {"closure": "tf.reduce_sum(model.tower(y, training=False))"},
    "in a lambda": {"in_lambda": "False"},
}


def is_exact(text: str) -> bool:
    result = converted(text)
    return any(one.applicability is Applicability.EXACT for one in result.findings) and "runtime" in result.converted


def loop(before: str = "", tape: str = "tf.GradientTape()", loss: str = "0.0") -> str:
    return LOOP.replace("{before}", before).replace("{tape}", tape).replace("{loss}", loss)


def model(**parts: str) -> str:
    text = MODEL
    for name, part in (PLAIN | parts).items():
        text = text.replace("{" + name + "}", part)
    return text


def test_the_programs_are_exact_without_such_a_way() -> None:
    assert is_exact(loop()) and is_exact(loop() + "print(score(IDS))\n")
    assert is_exact(model())
    assert is_exact(model(call="self.tower(ids, training)") + "def best(ids):\n    return model(ids, training=False)\n")


@pytest.mark.parametrize(("before", "tape"), TAPES.values(), ids=TAPES)
def test_a_tape_that_has_another_name(before: str, tape: str) -> None:
    assert not is_exact(loop(before, tape, "tf.reduce_sum(score(IDS))"))


@pytest.mark.parametrize(("before", "loss"), WAYS.values(), ids=WAYS)
def test_a_function_that_runs_without_its_name(before: str, loss: str) -> None:
    assert not is_exact(loop(before, loss=f"tf.reduce_sum({loss})"))


@pytest.mark.parametrize("parts", CALLS.values(), ids=CALLS)
def test_a_call_in_training_with_another_flag(parts: dict[str, str]) -> None:
    assert not is_exact(model(**parts))


@pytest.mark.parametrize("text", ["item.embeddings[0].assign(row)", "part = item.embeddings[1:]\npart.assign_add(row)"])
def test_rows_that_are_assigned(text: str) -> None:
    assert not is_exact(loop(text))


def test_the_name_of_a_table_is_another() -> None:
    assert is_exact(loop("print(item.embeddings.name)"))
    assert not is_exact(loop("names = {item.embeddings.name: 1}"))
