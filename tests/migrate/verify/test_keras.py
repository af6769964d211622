"""Programs that Keras trains, against their conversions and broken ones: `fit`, loops over a tape, own steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.source.settings.options import Options
from migrate.verify.recording import STAGE
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, measure
from tests.support.verified import failures, followed, measured

SETTINGS = Settings(steps=4, batches=2)
DATA = """
import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
ids = random.randint(1, 41, size=(64, 5)) * (random.uniform(size=(64, 5)) < 0.8)
labels = random.randint(2, size=(64, 1)).astype("float32")
"""
#: shuffled batches, dropout, masks, validation and a checkpoint between steps
FIT = (
    DATA
    + """
model = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(41, 4, embeddings_initializer="normal", mask_zero=True, name="item"),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dropout(0.5),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss=tf.keras.losses.BinaryCrossentropy(from_logits=True))
keep = tf.keras.callbacks.ModelCheckpoint("kept.weights.h5", save_weights_only=True)
events = tf.keras.callbacks.TensorBoard("events", write_graph=False)
model.fit(ids, labels, batch_size=16, epochs=3, validation_split=0.2, callbacks=[keep, events], verbose=0)
"""
)
#: a model of two tables, in a compiled step of its own over shuffled data, with checkpoints
LOOP = (
    DATA
    + """
class Towers(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.user = tf.keras.layers.Embedding(41, 4, name="user")
        self.item = tf.keras.layers.Embedding(41, 4, embeddings_initializer="zeros", name="item")
        self.head = tf.keras.layers.Dense(1)

    def call(self, pair, training=None):
        return self.head(tf.nn.dropout(self.user(pair[:, 0]) * self.item(pair[:, 1]), 0.25))


data = tf.data.Dataset.from_tensor_slices((ids, labels)).shuffle(64).batch(8)
model, optimizer = Towers(), tf.keras.optimizers.Adagrad(0.1)
compute = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def step(pair, label):
    with tf.GradientTape() as tape:
        loss = compute(label, model(pair, training=True))
    variables = model.trainable_variables
    gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, variables), 0.02)
    optimizer.apply_gradients(zip(gradients, variables))
    return loss


saved = tf.train.Checkpoint(model=model, optimizer=optimizer)
manager = tf.train.CheckpointManager(saved, "checkpoints", 2)
saved.restore("checkpoints/ckpt-1").expect_partial()
for pair, label in data:
    step(pair, label)
    manager.save()
"""
)
#: two models, each with a loss and an optimizer of its own
TWO = (
    DATA
    + """
user = tf.keras.Sequential([tf.keras.layers.Embedding(41, 4, name="user"), tf.keras.layers.Dense(4, name="a")])
item = tf.keras.Sequential([tf.keras.layers.Embedding(41, 4, name="item"), tf.keras.layers.Dense(4, name="b")])
first, second = tf.keras.optimizers.Adagrad(0.1), tf.keras.optimizers.Adagrad(0.2)
for start in range(0, 64, 8):
    pair, label = ids[start : start + 8], labels[start : start + 8]
    with tf.GradientTape() as one, tf.GradientTape() as two:
        score = tf.reduce_sum(user(pair[:, 0]) * item(pair[:, 1]), axis=1, keepdims=True)
        loss = tf.reduce_mean((score - label) ** 2)
        other = loss + 0.1 * tf.reduce_mean(score**2)
    first.apply_gradients(zip(one.gradient(loss, user.trainable_variables), user.trainable_variables))
    second.apply_gradients(zip(two.gradient(other, item.trainable_variables), item.trainable_variables))
    tf.reduce_sum(user(pair[:, 2]))
"""
)
#: looked-up variables of a module, beside a dense one, over shuffled data with dropout
VARIABLES = (
    DATA
    + """
class Factors(tf.Module):
    def __init__(self):
        super().__init__()
        self.head = tf.Variable(tf.random.normal([4]))
        self.user = tf.Variable(tf.random.normal([41, 4]), name="user")
        self.item = tf.Variable(tf.zeros([41, 4]), name="item")
        self.bias = tf.Variable(tf.random.uniform([41]), name="bias")

    def __call__(self, pair):
        rows = tf.nn.embedding_lookup(self.user, pair[:, 0]) * tf.gather(self.item, pair[:, 1])
        return tf.linalg.matvec(tf.nn.dropout(rows, 0.25), self.head) + tf.gather(self.bias, pair[:, 1])


data = tf.data.Dataset.from_tensor_slices((ids, labels)).shuffle(64).batch(8)
model, optimizer = Factors(), tf.keras.optimizers.Adam(0.1)


@tf.function
def step(pair, label):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(pair) - label[:, 0]) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for pair, label in data:
    step(pair, label)
"""
)
PROGRAMS = {"fit": FIT, "loop": LOOP, "two": TWO, "variables": VARIABLES}


TABLES = {
    "fit": {"item"},
    "loop": {"user", "item"},
    "two": {"user", "item"},
    "variables": {"user", "item", "bias"},
}


#: what is changed in a conversion, and the stages that must tell
BROKEN = {
    "two": ("loss + 0.1 *", "loss + 0.2 *", {"loss", "gradient", "optimizer"}),
    "fit": ("mask_zero=True, ", "", {"loss", "gradient", "optimizer"}),
    "loop": ("variables), 0.02)", "variables), 0.01)", {"optimizer"}),
    "variables": ("self.item, pair[:, 1]", "self.item, pair[:, 2]", {"forward", "loss", "gradient", "optimizer"}),
}


#: what a reader writes in place of looked-up variables, as docs/runtime/keras.md says
BY_HAND = {
    "import tensorflow as tf": "import tensorflow as tf\nfrom runtime.keras import table_variable",
    "tf.Variable(tf.random.normal([41, 4]), ": "table_variable(tf.random_normal_initializer(stddev=1.0), [41, 4], ",
    "tf.Variable(tf.zeros([41, 4]), ": "table_variable(tf.zeros_initializer(), [41, 4], ",
    "tf.Variable(tf.random.uniform([41]), ": "table_variable(tf.random_uniform_initializer(0.0, 1.0), [41], ",
}


def by_hand(folder: Path, text: str) -> tuple[Pair, str]:
    """Measure a program beside the same with tables in place of its variables."""
    (folder / "converted").mkdir()
    (folder / "program.py").write_text(text)
    for before, after in BY_HAND.items():
        assert before in text
        text = text.replace(before, after)
    (folder / "converted" / "program.py").write_text(text)
    return measure(str(folder / "program.py"), str(folder / "converted" / "program.py"), SETTINGS), text


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.one_case
def test_a_conversion_is_equal_on_every_rung_and_a_changed_one_is_found(name: str, tmp_path: Path) -> None:
    if name == "variables":
        pair, converted = by_hand(tmp_path, VARIABLES)
    else:
        pair, converted = measured(tmp_path, PROGRAMS[name], SETTINGS, options=Options(assume=True))
    assert {p.name for p in tmp_path.iterdir()} == {"program.py", "converted"}, "a comparison leaves nothing behind"
    found = list(pair.comparisons())
    assert failures(pair) == []
    traced = set() if name == "two" else {"traced"}  # it calls no function
    assert {c.stage for c in found} == {"initial", "forward", "loss", "gradient", "optimizer", *traced}
    for table in TABLES[name]:
        assert {f"{table} [table]", f"{table} lookup 0"} <= {c.name for c in found}
    assert {one.table for one in pair.memory()} == set(TABLES[name])
    assert all(0 < one.before <= one.after for one in pair.memory())
    losses = [step.losses[0] for step in pair.original.steps[STAGE]]
    assert len(set(losses)) == len(losses) == SETTINGS.steps
    assert not [note for note in pair.notes if "replaces the variable" not in note]
    before, after, stages = BROKEN[name]
    wrong = {one.stage for one in failures(followed(pair, tmp_path, converted, (before, after)))}
    assert wrong >= stages and "initial" not in wrong


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TWO.replace("range(0, 64, 8)", "range(0, 24, 8)"), "stopped after 3 training steps, but 7 are needed"),
        (TWO, "creates no table"),
    ],
    ids=["few steps", "not converted"],
)
@pytest.mark.one_case
def test_a_program_that_cannot_be_compared(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(text)
    with pytest.raises(MigrateError, match=words):
        measure(str(path), str(path), SETTINGS)


def test_a_program_that_trains_other_variables_is_told() -> None:
    import tensorflow as tf

    from migrate.verify.keras.side import _Converted

    job = {"path": "b.py", "directory": ".", "settings": SETTINGS, "state": {}, "known": [("rows", (41, 3))]}
    with pytest.raises(MigrateError, match=r"trains `w:0` \[2, 2\] instead of the original's `rows` \[41, 3\]"):
        _Converted(job).begin([tf.Variable(tf.zeros([2, 2]), name="w")])
