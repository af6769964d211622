"""Session programs: what their own rounding explains, by float64 and by twins of the original, and what it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, measure

#: Attention with sharp weights makes a difference in the last digit several times as large with each step.
ATTENTION = """
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
random = np.random.RandomState(0)
ids, labels = tf.placeholder(tf.int64, [None, 6]), tf.placeholder(tf.float32, [None])
rows = tf.nn.embedding_lookup(tf.get_variable("item", [20, 8]), ids)
kernel = tf.get_variable("kernel", [8, 8])
weights = tf.nn.softmax(60.0 * tf.einsum("bid,de,bje->bij", rows, kernel, rows))
loss = tf.reduce_mean(tf.square(tf.reduce_mean(tf.einsum("bij,bjd->bd", weights, rows), 1) - labels))
step = tf.train.AdagradOptimizer(0.3, 0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(12):
        session.run(step, {ids: random.randint(20, size=(12, 6)), labels: random.rand(12)})
"""
#: A term that moves both logits alike cancels out in the softmax: the gradient of its table is rounding alone.
CANCELLED = """
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
random = np.random.RandomState(3)
ids, labels = tf.placeholder(tf.int64, [None, 5]), tf.placeholder(tf.int64, [None])
both = tf.reduce_sum(tf.nn.embedding_lookup(tf.get_variable("both", [60, 8]), ids) ** 2, [1, 2])
logits = tf.reduce_sum(tf.nn.embedding_lookup(tf.get_variable("item", [60, 2]), ids), 1) + both[:, None] / 3
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(4):
        session.run(step, {ids: random.randint(60, size=(16, 5)), labels: random.randint(2, size=16)})
"""


def measured(folder: Path, program: str, steps: int, change: tuple[str, str] = ("", "")) -> Pair:
    """Measure a program and its conversion, in which one text takes the place of another."""
    path, converted = folder / "program.py", folder / "converted" / "program.py"
    converted.parent.mkdir()
    path.write_text(program)
    text = convert_text("program.py", program, Options(), {}).converted
    assert "create_table" in text and change[0] in text
    converted.write_text(text.replace(*change))
    return measure(str(path), str(converted), Settings(steps=steps, batches=1))


def test_drift_is_no_difference_and_a_fault_in_the_same_program_is_one(tmp_path: Path) -> None:
    (tmp_path / "right").mkdir()
    (tmp_path / "wrong").mkdir()
    pair = measured(tmp_path / "right", ATTENTION, 10)
    verdicts = {comparison.name: comparison.verdict for comparison in pair.comparisons()}
    assert set(verdicts.values()) <= {"equal", "undetermined"}
    first, last = (pair.first["steps"][at]["variables"]["item"] for at in (0, 9))
    for twin in pair.training.drift._twins:
        moved = [np.abs(twin["steps"][at]["variables"]["item"] - own).max() for at, own in ((0, first), (9, last))]
        assert 0 < 10 * moved[0] < moved[1], "the original drifts from itself"
    wrong = measured(
        tmp_path / "wrong", ATTENTION, 4, ("initial_accumulator_value=0.1", "initial_accumulator_value=0.11")
    )
    assert {"item [table]", "item [slots]"} <= {one.name for one in wrong.comparisons() if one.verdict == "differs"}


@pytest.mark.parametrize("change", [("", ""), ("/ 3", "/ 3.001")], ids=["right", "wrong, where it cancels out too"])
@pytest.mark.one_case
def test_a_gradient_that_cancels_out_is_rounding(change: tuple[str, str], tmp_path: Path) -> None:
    names = {one.name: one for one in measured(tmp_path, CANCELLED, 3, change).comparisons() if one.stage == "gradient"}
    assert names["both [table]"].verdict == "equal"
    assert names["both [table]"].max_abs == 0 or "0 but for rounding" in names["both [table]"].note
