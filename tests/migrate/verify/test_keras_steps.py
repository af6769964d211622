"""Models of Keras, traced or rounding: their conversions take the same steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.verify.keras import pair as keras
from migrate.verify.recording import Moment, Recording
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import follow, measure
from tests.support.source.converting import converted as converted_text
from tests.support.verified import measured

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
        total = tf.zeros([tf.shape(ids)[0], 4], tf.keras.backend.floatx())
        for at in tf.range(tf.shape(ids)[1]):
            total += self.looked_up(ids[:, at])
        return total

ids = tf.keras.Input([4], dtype="int64")
model = tf.keras.Model(ids, tf.keras.layers.Dense(1)(tf.keras.layers.Dropout(0.1)(Steps()(ids))))
model.compile("adam", "mse")
random = np.random.default_rng(0)
model.fit(random.integers(0, 30, (40, 4)), random.normal(size=(40, 1)), batch_size=8, epochs=2, verbose=0)
"""


def test_what_trains_otherwise_when_traced_is_found(tmp_path: Path) -> None:
    original, converted, other = (tmp_path / name for name in ("model.py", "converted.py", "other.py"))
    text = converted_text(PROGRAM).converted
    assert "from runtime.keras import Embedding" in text
    for path, content in ((original, PROGRAM), (converted, text)):
        path.write_text(content)
    other.write_text(text.replace("ids[:, at])", "ids[:, at]) * (1.0 if tf.executing_eagerly() else 1.001)"))
    pair = measure(str(original), str(converted), Settings(steps=2, batches=1))
    found = list(pair.comparisons())
    assert {one.verdict for one in found} == {"equal"}
    traced = {one.name for one in found if one.stage == "traced"}
    assert traced == {one.name for one in found if one.stage == "optimizer"} >= {"loss 0", "embedding [table]"}
    fault = follow(pair.recorded, str(other))
    wrong = [one for one in fault.comparisons() if one.verdict != "equal"]
    assert "loss 0" in {one.name for one in wrong}
    assert {(one.stage, one.verdict) for one in wrong} == {("traced", "differs")}
    assert not [note for note in fault.notes if "float64" in note], "dropout has the same masks in it"


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


@pytest.mark.soak
def test_variables_that_begin_to_train_by_turns_are_compared_eagerly_only(tmp_path: Path) -> None:
    original, converted = tmp_path / "model.py", tmp_path / "converted.py"
    original.write_text(TURNS)
    converted.write_text(converted_text(TURNS).converted)
    pair = measure(str(original), str(converted), Settings(steps=2, batches=1))
    found = list(pair.comparisons())
    assert {one.verdict for one in found} == {"equal"}
    assert "traced" not in {one.stage for one in found}
    assert any("begin to train later than others" in note for note in pair.notes)


SETTINGS = Settings(steps=6, batches=1)
#: each pair of a batch against all others: the softmax cancels the item tower's bias, whose gradient is rounding alone
RETRIEVAL = """
import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
users, items = random.randint(40, size=(12, 64)), random.randint(30, size=(12, 64))
user = tf.keras.Sequential([tf.keras.layers.Embedding(40, 8, name="user"), tf.keras.layers.Dense(8, name="u")])
item = tf.keras.Sequential([tf.keras.layers.Embedding(30, 8, name="item"), tf.keras.layers.Dense(8, name="i")])
rates = tf.keras.optimizers.schedules.PiecewiseConstantDecay([3], [0.5, 0.5])
optimizer = tf.keras.optimizers.Adagrad(rates, initial_accumulator_value=0.1)
for start in range(12):
    with tf.GradientTape() as tape:
        scores = tf.matmul(user(users[start]), item(items[start]), transpose_b=True)
        loss = tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(tf.eye(64), scores))
    variables = user.trainable_variables + item.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""


def test_each_step_begins_with_the_originals_weights(tmp_path: Path) -> None:
    """So the rate of later steps, which is wrong here, shows in how far weights move, and in no loss."""
    pair, _ = measured(tmp_path, RETRIEVAL, SETTINGS, ("[0.5, 0.5]", "[0.5, 0.49]"))
    steps = {one.name: one.verdict for one in pair.comparisons() if one.stage == "optimizer"}
    assert steps["loss 0"] == "equal" and {steps[f"{name} [table]"] for name in ("user", "item")} == {"differs"}


@pytest.mark.soak
@pytest.mark.parametrize("change", [("value=0.1", "value=0.11"), ("[0.5, 0.5]", "[0.5, 0.49]")], ids=["slot", "rate"])
def test_a_fault_exceeds_rounding(change: tuple[str, str], tmp_path: Path) -> None:
    pair, _ = measured(tmp_path, RETRIEVAL, SETTINGS, change)
    wrong = {one.name: one.note for one in pair.comparisons() if one.verdict == "differs"}
    assert {"user [table]", "item [table]", "u/kernel"} <= wrong.keys()
    assert "from the converted program" in wrong["item [table]"]


@pytest.mark.parametrize(
    ("losses", "usable"),
    [([[0.70001, 2.0], [0.9, 1.0]], True), ([[0.7, 2.0], [0.91, 1.0]], False), ([[0.7], [0.9]], False)],
)
def test_a_run_in_float64_must_begin_as_the_original(losses: list[list[float]], usable: bool) -> None:
    def recording(*moments: list[float]) -> Recording:
        return Recording({}, [Moment(moments[0])], {"optimizer": [Moment(one) for one in moments[1:]]})

    ran = recording(*losses)
    found = keras.float64_of(recording([0.7, 2.0], [0.9, 1.0]), {"recording": ran})
    assert found is ran if usable else str(found).startswith("no float64 reference, because the program draws")
