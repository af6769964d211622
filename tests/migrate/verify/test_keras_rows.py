"""Rows in models of Keras: columns that `DenseFeatures` reads, and ids that a batch has twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.verify.settings import Settings
from tests.support.verified import measured

tf = pytest.importorskip("tensorflow")
COLUMNS = """
import numpy as np
import tensorflow as tf

data = {"item": (np.arange(48) % 7).astype("int32"), "user": np.array(["u%d" % (n % 5) for n in range(48)])}
labels = (np.arange(48) % 2).astype("float32")
item = tf.feature_column.categorical_column_with_identity("item", 50)
user = tf.feature_column.categorical_column_with_hash_bucket("user", 50)
columns = [tf.feature_column.embedding_column(item, 4), tf.feature_column.embedding_column(user, 3, "sum")]
model = tf.keras.Sequential([tf.keras.layers.DenseFeatures(columns), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile(tf.keras.optimizers.Adam(0.01), "binary_crossentropy")
model.fit(data, labels, batch_size=8, verbose=0)
"""


@pytest.mark.skipif(not hasattr(tf.keras.layers, "DenseFeatures"), reason="Keras 3 has no DenseFeatures")
def test_rows_and_steps_are_equal_where_a_batch_has_an_id_twice(tmp_path: Path) -> None:
    pair, _ = measured(tmp_path, COLUMNS, Settings(steps=3, batches=1))
    assert len(pair.matched) == 2
    found = {one.name: one.verdict for one in pair.comparisons()}
    assert set(found.values()) == {"equal"}
    assert sum(" lookup " in name for name in found) == 2


SETTINGS = Settings(steps=3, batches=1)
PROGRAM = """
import numpy as np
import tensorflow as tf

ids = np.arange(120).reshape(24, 5) % 7
labels = np.arange(24).reshape(24, 1).astype("float32") % 2
layers = [tf.keras.Input((5,), dtype="int64"), tf.keras.layers.Embedding(120, 4, name="item")]
layers += [tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]
model = tf.keras.Sequential(layers)
model.compile(optimizer=tf.keras.optimizers.OPTIMIZER, loss="mse")
model.fit(ids, labels, batch_size=4, shuffle=False, verbose=0)
"""


@pytest.mark.parametrize("optimizer", ["Adam(0.01)", "Adagrad(0.1)", "AdamW(0.01)"])
@pytest.mark.one_case
def test_steps_are_equal(tmp_path: Path, optimizer: str) -> None:
    pair, _ = measured(tmp_path, PROGRAM.replace("OPTIMIZER", optimizer), SETTINGS)
    assert {one.verdict for one in pair.comparisons()} == {"equal"}
    assert not any("Keras 3" in note for note in pair.notes)
