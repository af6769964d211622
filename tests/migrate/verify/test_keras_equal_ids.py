"""Equal ids in a batch: whatever Keras makes of their gradients, a conversion takes the same steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.verify.settings import Settings
from tests.support.verified import measured

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
