"""Session programs: what rounding explains, what `rewriter.install` moves, batches of any size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.source.driver.convert_file import convert_text
from migrate.source.evidence.in_graph import with_install
from migrate.source.settings.options import Options
from migrate.verify import pair
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, measure
from tests.support.command import migrate
from tests.support.verified import failures, followed, measured

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


def test_rounding_does_not_add_up_and_a_fault_in_the_same_program_is_found(tmp_path: Path) -> None:
    pair, _ = measured(tmp_path / "right", ATTENTION, Settings(steps=10, batches=1))
    assert {comparison.verdict for comparison in pair.comparisons()} == {"equal"}
    change = ("initial_accumulator_value=0.1", "initial_accumulator_value=0.11")
    wrong, _ = measured(tmp_path / "wrong", ATTENTION, Settings(steps=4, batches=1), change)
    found = {one.name for one in wrong.comparisons() if one.verdict == "differs"}
    assert found == {"item [table]", "item [slots]"}, "and no consequence of it"


@pytest.mark.parametrize("change", [("", ""), ("/ 3", "/ 3.001")], ids=["right", "wrong, where it cancels out too"])
@pytest.mark.one_case
def test_a_gradient_that_cancels_out_is_rounding(change: tuple[str, str], tmp_path: Path) -> None:
    pair, _ = measured(tmp_path, CANCELLED, Settings(steps=3, batches=1), change)
    names = {one.name: one for one in pair.comparisons() if one.stage == "gradient"}
    assert names["both [table]"].verdict == "equal"
    assert names["both [table]"].max_abs == 0 or "0 but for rounding" in names["both [table]"].note


#: Small gradients: a rate that decays otherwise, and accumulators that stay, show in the sum of the steps alone.
SMALL = """
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
random = np.random.RandomState(6)
ids, labels = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None, 100])
kernel = tf.get_variable("kernel", [8, 100])
logits = tf.matmul(tf.nn.embedding_lookup(tf.get_variable("item", [50, 8]), ids), kernel)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
factor = tf.get_variable("factor", initializer=1.0, trainable=False)
optimizer = tf.train.AdagradOptimizer(0.05, initial_accumulator_value=0.1)
step = optimizer.minimize(loss)
with tf.control_dependencies([step]):
    train = tf.assign(factor, factor * 0.999995)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(12):
        session.run(train, {ids: random.randint(50, size=64), labels: random.rand(64, 100)})
"""
STAYS = """class Stays(tf.train.AdagradOptimizer):
    def _apply_dense(self, grad, var):
        accum, rate = self.get_slot(var, "accumulator"), tf.cast(self._learning_rate_tensor, tf.float32)
        return tf.raw_ops.ApplyAdagrad(var=var, accum=accum, lr=rate, grad=grad, update_slots=False)


optimizer = Stays("""


def test_faults_of_what_is_not_trained_add_up(tmp_path: Path) -> None:
    pair, text = measured(tmp_path, SMALL, Settings(steps=10, batches=1))
    assert {comparison.verdict for comparison in pair.comparisons()} == {"equal"}
    rate = followed(pair, tmp_path, text, ("* 0.999995", "* 1.0"))
    assert {one.name for one in failures(rate)} == {"factor"}
    slots = followed(pair, tmp_path, text, ("optimizer = tf.train.AdagradOptimizer(", STAYS))
    assert {one.name for one in failures(slots)} == {"kernel/Adagrad"}


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


def installed(folder: Path, program: str, tables: Sequence[str]) -> Pair:
    path, converted = folder / "program.py", folder / "converted" / "program.py"
    converted.parent.mkdir()
    path.write_text(program)
    text = convert_text("program.py", program, Options(), {}).converted
    assert text.count("create_table(") == 1
    converted.write_text(with_install(text, tables, ())[0])
    return measure(str(path), str(converted), Settings(steps=3, batches=1))


#: Only the product of both is looked up, and the mask is not trained.
MASKED = """mask = tf.Variable(np.tri(20, 4), dtype=tf.float32, trainable=False, name="mask")
rows = tf.nn.embedding_lookup(user * mask, ids) +"""


#: A dataset gives the ids, which `rewriter.install` lets it compute, but not while batches are fed.
PARTED = """
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
random = np.random.RandomState(0)
data = tf.data.Dataset.from_tensor_slices(random.randint(30, size=(40, 3))).batch(8).repeat()
ids = tf.data.make_one_shot_iterator(data).get_next()
user = tf.get_variable("user", [30, 4], partitioner=tf.fixed_size_partitioner(4))
rows = tf.nn.embedding_lookup(user, ids, name="NAME")
loss = tf.reduce_mean(tf.square(tf.reduce_sum(rows, [1, 2]) - 1.0))
step = tf.train.AdagradOptimizer(0.3, 0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(4):
        session.run(step)
"""


@pytest.mark.parametrize(("lookup", "table"), [("rows", "user"), ("user", "user/part_0")])
def test_a_partitioned_variable_that_moves_at_run_time(lookup: str, table: str, tmp_path: Path) -> None:
    """Its table has the name of the first part where an op of the graph has that of the variable."""
    path, converted = tmp_path / "program.py", tmp_path / "converted" / "program.py"
    converted.parent.mkdir()
    path.write_text(PARTED.replace("NAME", lookup))
    converted.write_text(with_install(path.read_text(), ["user"], ())[0])
    pair = measure(str(path), str(converted), Settings(steps=3, batches=1))
    compared = pair.comparisons()
    assert [note for note in pair.notes if note.endswith("compared only by the loss and its rows after each step")]
    assert {one.verdict for one in compared} == {"equal"}
    assert {f"{table} [table]", f"{table} [slots]"} <= {one.name for one in compared}
    assert not [one.name for one in compared if "Adagrad" in one.name]


def test_the_variable_of_a_feature_column_that_moves_at_run_time(tmp_path: Path) -> None:
    """The rewriter's placeholders with defaults are no inputs of the program."""
    made, _, rest = PARTED.partition("user = ")
    column = "column = tf.feature_column.categorical_column_with_identity('user', 30)\n"
    looked = "rows = tf.feature_column.input_layer({'user': ids}, [tf.feature_column.embedding_column(column, 4)])\n"
    path, converted = tmp_path / "program.py", tmp_path / "converted" / "program.py"
    converted.parent.mkdir()
    path.write_text(made + column + looked + rest[rest.index("loss") :].replace("[1, 2]", "1"))
    name = "input_layer/user_embedding/embedding_weights"
    converted.write_text(with_install(path.read_text(), [name], ())[0])
    compared = measure(str(path), str(converted), Settings(steps=3, batches=1)).comparisons()
    assert {one.verdict for one in compared} == {"equal"}
    assert {f"{name} [table]", f"{name} [slots]"} <= {one.name for one in compared}


def test_a_masked_table_of_a_program_of_tensorflow_1(tmp_path: Path) -> None:
    """Its `tensorflow` is `tf.compat.v1` while it runs, and the rewriter's is not; what a seed draws is said."""
    program = PROGRAM.replace("\ntf.disable_v2_behavior()", "").replace("tensorflow.compat.v1", "tensorflow")
    program = program.replace("zeros_init", "random_uniform_init").replace(
        "random = ", "tf.set_random_seed(1)\nrandom = "
    )
    program = program.replace("rows = tf.nn.embedding_lookup(user, ids) +", MASKED)
    pair = installed(tmp_path, program, tables=("user", "mask"))
    verdicts = {one.name: one.verdict for one in pair.comparisons()}
    assert set(verdicts.values()) == {"equal"}
    assert {"user [table]", "user [slots]", "mask [table]", "mask [idle rows]", "item [table]"} <= set(verdicts)
    (note,) = [one for one in pair.notes if "drawn by id" in one]
    assert note.startswith("the first rows of `item` are drawn by id")


CELLS = (
    """%matplotlib inline
!pip install nothing
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()""",
    """ids = tf.placeholder(tf.int64, [None, None])
labels = tf.reshape(tf.placeholder(tf.float32, [None]), [-1])  # which is fed, not the placeholder
item = tf.get_variable("item", [20, 4])
bias = tf.get_variable("bias", [20])
scores = tf.reduce_sum(tf.nn.embedding_lookup(item, ids), [1, 2]) + tf.reduce_sum(tf.gather(bias, ids), 1)
loss = tf.square(scores - labels)
train = tf.train.AdagradOptimizer(0.1).minimize(loss)
display(loss)""",
    """random = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(8):
        size = 6 - step % 2
        session.run(train, {ids: random.randint(20, size=(size, 3 + step % 3)), labels: random.rand(size)})""",
)


def notebook(path: Path, cells: tuple[str, ...]) -> Path:
    empty = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    written = [{**empty, "source": cell.splitlines(keepends=True)} for cell in cells]
    path.write_text(json.dumps({"cells": written, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}))
    return path


def test_a_notebook_is_proven_with_batches_of_any_width_and_size(tmp_path: Path) -> None:
    notebook(tmp_path / "train.ipynb", CELLS)
    done = migrate(["convert", "train.ipynb", "-o", "out"], tmp_path)
    assert "next: migrate verify train.ipynb out/train.ipynb" in done.err + done.out
    paths = (str(tmp_path / "train.ipynb"), str(tmp_path / "out/train.ipynb"))
    found = pair.verify(*paths, None, Settings(steps=4, batches=4))
    assert found.passed, found.notes
    counts = {one.name: one.count for one in found.comparisons if one.stage == "forward"}
    assert counts == {
        "item lookup 0": 4 * (6 * 3 + 5 * 4 + 6 * 5 + 5 * 3),
        "bias lookup 0": 6 * 3 + 5 * 4 + 6 * 5 + 5 * 3,
    }


def test_a_notebook_with_a_cell_that_is_no_python_is_named(tmp_path: Path) -> None:
    path = str(notebook(tmp_path / "train.ipynb", ("import tensorflow as tf", "def f(:")))
    with pytest.raises(MigrateError, match=r"train\.ipynb: .*is not valid Python"):
        pair.verify(path, path, None, Settings())
