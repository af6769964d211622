"""Session programs: what their own rounding explains, by float64 and by twins of the original, and what it does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from migrate.verify.settings import Settings
from tests.support.verified import measured

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


def test_drift_is_no_difference_and_a_fault_in_the_same_program_is_one(tmp_path: Path) -> None:
    pair, _ = measured(tmp_path / "right", ATTENTION, Settings(steps=10, batches=1))
    verdicts = {comparison.name: comparison.verdict for comparison in pair.comparisons()}
    assert set(verdicts.values()) <= {"equal", "undetermined"}
    first, last = (pair.first["steps"][at]["variables"]["item"] for at in (0, 9))
    for twin in pair.training.drift._twins:
        moved = [np.abs(twin["steps"][at]["variables"]["item"] - own).max() for at, own in ((0, first), (9, last))]
        assert 0 < 10 * moved[0] < moved[1], "the original drifts from itself"
    change = ("initial_accumulator_value=0.1", "initial_accumulator_value=0.11")
    wrong, _ = measured(tmp_path / "wrong", ATTENTION, Settings(steps=4, batches=1), change)
    assert {"item [table]", "item [slots]"} <= {one.name for one in wrong.comparisons() if one.verdict == "differs"}


@pytest.mark.parametrize("change", [("", ""), ("/ 3", "/ 3.001")], ids=["right", "wrong, where it cancels out too"])
@pytest.mark.one_case
def test_a_gradient_that_cancels_out_is_rounding(change: tuple[str, str], tmp_path: Path) -> None:
    pair, _ = measured(tmp_path, CANCELLED, Settings(steps=3, batches=1), change)
    names = {one.name: one for one in pair.comparisons() if one.stage == "gradient"}
    assert names["both [table]"].verdict == "equal"
    assert names["both [table]"].max_abs == 0 or "0 but for rounding" in names["both [table]"].note
