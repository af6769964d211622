"""Columns that `DenseFeatures` reads in a model of Keras: a program and its conversion are compared row by row."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.report.table_names import tables_of
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, measure

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


def measured(directory: Path, change: tuple[str, str]) -> Pair:
    path, converted = directory / "program.py", directory / "converted" / "program.py"
    converted.parent.mkdir()
    path.write_text(PROGRAM)
    result = convert_text("program.py", PROGRAM, Options(), {})
    converted.write_text(result.converted.replace(*change))
    found = measure(str(path), str(converted), Settings(steps=3, batches=1))
    assert [len(names) for names in tables_of(result.tables, found.matched)] == [1, 1], found.matched
    return found


@pytest.mark.parametrize(("change", "differs"), [(("", ""), False), (("0.01", "0.02"), True)])
@pytest.mark.one_case
def test_rows_and_steps_are_compared(tmp_path: Path, change: tuple[str, str], differs: bool) -> None:
    pair = measured(tmp_path, change)
    found = {one.name: one.verdict for one in pair.comparisons()}
    assert ("differs" in found.values()) is differs
    assert sum(" lookup " in name for name in found) == 2
