"""A proof runs the converted program as its user does: with its functions traced."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import measure
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


def test_what_trains_only_eagerly_is_an_error(tmp_path: Path) -> None:
    original, converted, broken = (tmp_path / name for name in ("model.py", "converted.py", "broken.py"))
    text = converted_text(PROGRAM).converted
    assert "from runtime.keras import Embedding" in text
    for path, content in ((original, PROGRAM), (converted, text)):
        path.write_text(content)
    broken.write_text(
        text.replace("ids = tf.keras.Input", f"{OWN}\nids = tf.keras.Input").replace("keras.Model(ids", "keras.Own(ids")
    )
    settings = Settings(steps=2, batches=1)
    pair = measure(str(original), str(converted), settings)
    assert {one.verdict for one in pair.comparisons()} == {"equal"}
    with pytest.raises(MigrateError, match="not with them traced"):
        measure(str(original), str(broken), settings)
