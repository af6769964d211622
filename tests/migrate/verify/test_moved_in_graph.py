"""A program of which `rewriter.install` moves one table is proven, beside one that its source moves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from migrate.source.driver.convert_file import convert_text
from migrate.source.evidence.entry_line import with_install
from migrate.source.settings.options import Options
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, measure

PROGRAM = """
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def drawn(shape, dtype=None, partition_info=None):
    return tf.random_uniform(shape, -0.1, 0.1, seed=3)


random = np.random.RandomState(0)
ids = tf.placeholder(tf.int64, [None])
user = tf.get_variable("user", [20, 4], initializer=drawn)
item = tf.get_variable("item", [30, 4], initializer=tf.zeros_initializer())
rows = tf.nn.embedding_lookup(user, ids) + tf.nn.embedding_lookup(item, ids)
loss = tf.reduce_mean(tf.square(tf.reduce_sum(rows, 1) - 0.3)) + 0.01 * tf.nn.l2_loss(user)
step = tf.train.AdagradOptimizer(0.3, 0.1).minimize(loss)
with tf.train.MonitoredTrainingSession() as session:
    for _ in range(4):
        session.run(step, {ids: random.randint(20, size=9)})
"""


def measured(folder: Path, program: str, tables: Sequence[str] = ("user",)) -> Pair:
    path, converted = folder / "program.py", folder / "converted" / "program.py"
    converted.parent.mkdir()
    path.write_text(program)
    text = convert_text("program.py", program, Options(), {}).converted
    assert text.count("create_table(") == 1
    converted.write_text(with_install(text, tables, ())[0])
    return measure(str(path), str(converted), Settings(steps=3, batches=1))


def test_rows_slots_and_losses_are_compared(tmp_path: Path) -> None:
    verdicts = {one.name: one.verdict for one in measured(tmp_path, PROGRAM).comparisons()}
    assert set(verdicts.values()) == {"equal"}
    assert {"user [table]", "user [slots]", "item [table]", "user lookup 0", "item lookup 0"} <= set(verdicts)


#: Only the product of both is looked up, and the mask is not trained.
MASKED = """mask = tf.Variable(np.tri(20, 4), dtype=tf.float32, trainable=False, name="mask")
rows = tf.nn.embedding_lookup(user * mask, ids) +"""


def test_a_masked_table_of_a_program_of_tensorflow_1(tmp_path: Path) -> None:
    """Its `tensorflow` is `tf.compat.v1` while it runs, and the rewriter's is not; what a seed draws is said."""
    program = PROGRAM.replace("\ntf.disable_v2_behavior()", "").replace("tensorflow.compat.v1", "tensorflow")
    program = program.replace("zeros_init", "random_uniform_init").replace(
        "random = ", "tf.set_random_seed(1)\nrandom = "
    )
    program = program.replace("rows = tf.nn.embedding_lookup(user, ids) +", MASKED)
    pair = measured(tmp_path, program, tables=("user", "mask"))
    verdicts = {one.name: one.verdict for one in pair.comparisons()}
    assert set(verdicts.values()) == {"equal"}
    assert {"user [table]", "mask [table]", "mask [idle rows]", "item [table]"} <= set(verdicts)
    (note,) = [one for one in pair.notes() if "drawn by id" in one]
    assert note.startswith("the first rows of `item` are drawn by id")
