"""Reads of `layer.embeddings`: exact in a module, outside of tapes; elsewhere a gradient may reach them."""

from __future__ import annotations

import pytest

from migrate.report.model import Applicability
from tests.support.source.converting import converted

LOOP = """
import contextlib
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

{before}

with {tape} as tape:
    loss = tf.reduce_sum(net(IDS, training=True)) + {loss}
optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""
SCORES = "scores = tf.matmul(net(IDS), item.embeddings, transpose_b=True)"
#: Code before the tape, the tape, and a term of the loss.
WAYS = {
    "in the tape": ("", "tf.GradientTape()", "tf.reduce_sum(item.embeddings)"),
    "a tape of another name": ("from tensorflow import GradientTape as Tape\n" + SCORES, "Tape()", "scores"),
    "a tape of a context": (
        "@contextlib.contextmanager\ndef tapes():\n    with tf.GradientTape() as one:\n        yield one\n" + SCORES,
        "tapes()",
        "scores",
    ),
    "a function": (f"def score():\n    {SCORES}\n    return scores", "tf.GradientTape()", "0.0"),
    "an expression": (
        "lazy = (item.embeddings[one] for one in range(3))", "tf.GradientTape()", "tf.reduce_sum(next(lazy))",
    ),
    "symbolic tensors": ("ids = keras.Input([2])\n" + SCORES, "tf.GradientTape()", "0.0"),
}  # fmt: skip


def is_exact(text: str) -> bool:
    result = converted(text)
    return any(one.applicability is Applicability.EXACT for one in result.findings) and "runtime" in result.converted


def loop(before: str = "", tape: str = "tf.GradientTape()", loss: str = "0.0") -> str:
    return LOOP.replace("{before}", before).replace("{tape}", tape).replace("{loss}", loss)


def test_a_read_in_a_module_is_exact() -> None:
    assert is_exact(loop()) and is_exact(loop(SCORES)) and is_exact(loop() + SCORES + "\n")


@pytest.mark.parametrize(("before", "tape", "loss"), WAYS.values(), ids=WAYS)
def test_a_gradient_may_reach_the_read(before: str, tape: str, loss: str) -> None:
    assert not is_exact(loop(before, tape, loss))


@pytest.mark.parametrize("text", ["item.embeddings[0].assign(row)", "part = item.embeddings[1:]\npart.assign_add(row)"])
def test_rows_that_are_assigned(text: str) -> None:
    assert not is_exact(loop(text))


def test_the_name_of_a_table_is_another() -> None:
    assert is_exact(loop("print(item.embeddings.name)"))
    assert not is_exact(loop("names = {item.embeddings.name: 1}"))
