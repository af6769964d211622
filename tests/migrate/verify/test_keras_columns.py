"""Columns that `DenseFeatures` reads in a model of Keras: a program and its conversion are compared row by row."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.verify.settings import Settings
from tests.support.verified import measured

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(not hasattr(tf.keras.layers, "DenseFeatures"), reason="Keras 3 has no DenseFeatures")
PROGRAM = """
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


def test_rows_and_steps_are_equal_where_a_batch_has_an_id_twice(tmp_path: Path) -> None:
    pair, _ = measured(tmp_path, PROGRAM, Settings(steps=3, batches=1))
    assert len(pair.matched) == 2
    found = {one.name: one.verdict for one in pair.comparisons()}
    assert set(found.values()) == {"equal"}
    assert sum(" lookup " in name for name in found) == 2
