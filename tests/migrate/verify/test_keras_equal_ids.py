"""Equal ids in a batch: whatever Keras makes of their gradients, a conversion takes the same steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, measure

SETTINGS = Settings(steps=3, batches=1)
PROGRAM = """
import numpy as np
import tensorflow as tf

ids = np.arange(120).reshape(24, 5) % MODULUS
labels = np.arange(24).reshape(24, 1).astype("float32") % 2
layers = [tf.keras.Input((5,), dtype="int64"), tf.keras.layers.Embedding(120, 4, name="item")]
layers += [tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]
model = tf.keras.Sequential(layers)
model.compile(optimizer=tf.keras.optimizers.OPTIMIZER, loss="mse")
model.fit(ids, labels, batch_size=4, shuffle=False, verbose=0)
"""


def measured(directory: Path, optimizer: str, modulus: int, change: tuple[str, str] = ("", "")) -> Pair:
    """Measure a program and its conversion, in which one text takes the place of another."""
    path, converted = directory / "program.py", directory / "converted" / "program.py"
    converted.parent.mkdir()
    text = PROGRAM.replace("OPTIMIZER", optimizer).replace("MODULUS", str(modulus))
    path.write_text(text)
    converted.write_text(convert_text("program.py", text, Options(), {}).converted.replace(*change))
    return measure(str(path), str(converted), SETTINGS)


@pytest.mark.parametrize("optimizer", ["Adam(0.01)", "Adagrad(0.1)", "AdamW(0.01)"])
@pytest.mark.one_case
def test_steps_are_equal(tmp_path: Path, optimizer: str) -> None:
    pair = measured(tmp_path, optimizer, 7)
    assert {one.verdict for one in pair.comparisons()} == {"equal"}
    assert not any("Keras 3" in note for note in pair.notes())


@pytest.mark.soak
def test_another_difference_is_not_excused(tmp_path: Path) -> None:
    pair = measured(tmp_path, "Adam(0.01)", 7, ("Adam(0.01)", "Adam(0.02)"))
    assert any(one.verdict == "differs" for one in pair.comparisons())
