"""A proof runs both programs as their user does: with their functions traced."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import follow, measure
from tests.support.source.converting import converted as converted_text

#: AutoGraph makes a loop of the graph of it, which eager code does not have.
PROGRAM = """
import numpy as np
import tensorflow as tf

class Steps(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.rows = tf.keras.layers.Embedding(30, 4)

    def looked_up(self, column):
        return self.rows(column)

    def call(self, ids):
        total = tf.zeros([tf.shape(ids)[0], 4])
        for at in tf.range(tf.shape(ids)[1]):
            total += self.looked_up(ids[:, at])
        return total

ids = tf.keras.Input([4], dtype="int64")
model = tf.keras.Model(ids, tf.keras.layers.Dense(1)(Steps()(ids)))
model.compile("adam", "mse")
random = np.random.default_rng(0)
model.fit(random.integers(0, 30, (40, 4)), random.normal(size=(40, 1)), batch_size=8, epochs=2, verbose=0)
"""
OWN = """
class Own(tf.keras.Model):
    def train_step(self, data):
        if not tf.executing_eagerly():
            raise TypeError("the gradient of the table is dense")
        return super().train_step(data)

tf.keras.Own = Own
"""


def test_what_trains_otherwise_or_not_at_all_when_traced_is_found(tmp_path: Path) -> None:
    original, converted, broken, other = (
        tmp_path / name for name in ("model.py", "converted.py", "broken.py", "other.py")
    )
    text = converted_text(PROGRAM).converted
    assert "from runtime.keras import Embedding" in text
    for path, content in ((original, PROGRAM), (converted, text)):
        path.write_text(content)
    broken.write_text(
        text.replace("ids = tf.keras.Input", f"{OWN}\nids = tf.keras.Input").replace("keras.Model(ids", "keras.Own(ids")
    )
    other.write_text(text.replace("ids[:, at])", "ids[:, at]) * (1.0 if tf.executing_eagerly() else 1.001)"))
    pair = measure(str(original), str(converted), Settings(steps=2, batches=1))
    found = list(pair.comparisons())
    assert {one.verdict for one in found} == {"equal"}
    traced = {one.name for one in found if one.stage == "traced"}
    assert traced == {one.name for one in found if one.stage == "optimizer"} >= {"loss 0", "embedding [table]"}
    with pytest.raises(MigrateError, match="not with them traced"):
        follow(pair.first, str(broken))
    wrong = [one for one in follow(pair.first, str(other)).comparisons() if one.verdict != "equal"]
    assert "loss 0" in {one.name for one in wrong}
    assert {(one.stage, one.verdict) for one in wrong} == {("traced", "differs")}


#: two functions by turns, one makes a variable of its own, the gradients of the other are applied outside
TURNS = """
import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
ids, labels = random.randint(0, 30, (20, 8, 3)), random.randint(2, size=(20, 8, 1)).astype("float32")
rows, kept = tf.keras.layers.Embedding(30, 4, name="rows"), tf.keras.layers.Embedding(30, 4, name="kept")
kept.trainable = False
head, scale = tf.keras.layers.Dense(1), []
first, second = tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.Adagrad(0.1)


@tf.function
def train_rows(x, y):
    if not scale:
        scale.append(tf.Variable(tf.ones([4]), name="scale"))
    with tf.GradientTape() as tape:
        pooled = tf.nn.dropout(tf.reduce_mean(rows(x) + kept(x), 1) * scale[0], 0.3)
        loss = tf.reduce_mean((head(pooled) - y) ** 2)
    variables = rows.trainable_variables + scale
    first.apply_gradients(zip(tape.gradient(loss, variables), variables))


@tf.function
def head_gradients(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((head(tf.reduce_mean(rows(x), 1)) - y) ** 2)
    return tape.gradient(loss, head.trainable_variables)


for x, y in zip(ids, labels):
    train_rows(x, y)
    second.apply_gradients(zip(head_gradients(x, y), head.trainable_variables))
"""


def test_variables_that_begin_to_train_by_turns_are_compared_eagerly_only(tmp_path: Path) -> None:
    original, converted = tmp_path / "model.py", tmp_path / "converted.py"
    original.write_text(TURNS)
    converted.write_text(converted_text(TURNS).converted)
    pair = measure(str(original), str(converted), Settings(steps=2, batches=1))
    found = list(pair.comparisons())
    assert {one.verdict for one in found} == {"equal"}
    assert "traced" not in {one.stage for one in found}
    assert any("begin to train later than others" in note for note in pair.notes())
