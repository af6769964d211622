"""A converted training program against the original, and changes that must be found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli.verify import verify
from migrate.errors import MigrateError
from migrate.report.model import Comparison
from migrate.report.serialize import read_report
from migrate.source.settings.options import Options
from migrate.source.tensorflow.convert import convert
from migrate.verify.recording import STAGE
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, follow, measure
from tests.support.paths import ROOT

EXAMPLES = ROOT / "examples" / "tensorflow"
SETTINGS = Settings(steps=4, batches=2)
#: everything at once: dropout, clipping, two lookups of one table, a rank-1 table, a vector of constants
PROGRAM = """
import numpy as np
import tensorflow as tf


def main():
    ids = tf.placeholder(tf.int32, [None, 3], "ids")
    label = tf.placeholder(tf.float32, [None], "label")
    table = tf.get_variable("table", [40, 4], initializer=tf.constant_initializer(0.25))
    bias = tf.get_variable("bias_of_id", [40], initializer=tf.zeros_initializer())
    rows = tf.nn.embedding_lookup(table, ids)
    first = tf.nn.embedding_lookup(table, ids[:, 0])
    hidden = tf.nn.dropout(tf.reduce_sum(rows, axis=1) + first, keep_prob=0.5)
    weight = tf.get_variable("weight", [4])
    logit = tf.reduce_sum(hidden * weight, axis=1) + tf.reduce_sum(tf.gather(bias, ids), axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
    optimizer = tf.train.OPTIMIZER
    train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    random = np.random.RandomState(0)
    with tf.train.MonitoredTrainingSession(checkpoint_dir="here") as session:
        for _ in range(8):
            feed = {ids: random.randint(30, size=(16, 3)), label: random.randint(2, size=16)}
            session.run([train, loss], feed)


main()
"""


def converted(text: str, directory: Path) -> Path:
    """Return the path of the converted program."""
    directory.mkdir(exist_ok=True)
    path = directory / "program.py"
    path.write_text(convert("program.py", text, Options(assume=True)).converted)
    return path


def run(original: Path, text: str, tmp_path: Path) -> Pair:
    """Convert and measure both."""
    path = converted(text, tmp_path / "converted")
    return measure(str(original), str(path), SETTINGS)


def failures(pair: Pair) -> list[Comparison]:
    return [comparison for comparison in pair.comparisons() if comparison.verdict != "equal"]


@pytest.mark.parametrize("name", ["ctr_session.py", "ctr_estimator.py"])
@pytest.mark.one_case
def test_the_examples_are_equal_on_every_rung(name: str, tmp_path: Path) -> None:
    original = EXAMPLES / name
    pair = run(original, original.read_text(), tmp_path)
    found = list(pair.comparisons())
    assert failures(pair) == []
    assert {c.stage for c in found} == {"initial", "forward", "loss", "gradient", "optimizer"}
    assert {"global_step"} <= {c.name for c in found if c.stage == "optimizer"}
    assert not any("float64" in note for note in pair.notes)
    steps, others = (side.steps[STAGE] for side in (pair.original, pair.converted))
    (curve,) = next(c.series for c in found if c.stage == "optimizer" and c.series)
    assert list(curve.original) == [float(step.losses[0]) for step in steps]
    assert list(curve.converted) == [float(step.losses[0]) for step in others]
    assert len(curve.reference) == len(steps) and curve.reference != curve.original
    for one in pair.memory():
        own = pair.original.initial[pair.matched[one.table]].shape
        assert one.slots == {"ctr_session.py": 1, "ctr_estimator.py": 0}[name]  # Adagrad, gradient descent
        assert (one.rows, one.before) == (own[0], np.prod(own) * 4 * (1 + one.slots))
        assert one.after >= one.before  # as many rows, and an index
    assert {one.table for one in pair.memory()} == set(pair.matched)


def program(directory: Path, optimizer: str) -> tuple[Path, str]:
    text = PROGRAM.replace("OPTIMIZER", optimizer)
    path = directory / "program.py"
    path.write_text(text)
    return path, text


@pytest.fixture(scope="module")
def adagrad(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Pair]:
    """The program with Adagrad: text of the converted one, and both sides measured once."""
    directory = tmp_path_factory.mktemp("program")
    path, text = program(directory, "AdagradOptimizer(0.5)")
    pair = run(path, text, directory)
    assert {p.name for p in directory.iterdir()} == {"program.py", "converted"}, "a comparison leaves nothing behind"
    return (directory / "converted" / "program.py").read_text(), pair


def test_a_program_of_version_1_with_dropout(adagrad: tuple[str, Pair]) -> None:
    _, pair = adagrad
    assert failures(pair) == []
    names = [c.name for c in pair.comparisons()]
    assert {"table lookup 0", "table lookup 1", "bias_of_id lookup 0"} <= set(names)
    assert {"table [slots]", "table [idle rows]", "bias_of_id [table]", "weight/Adagrad"} <= set(names)
    assert pair.notes == ()


@pytest.mark.parametrize(
    ("changes", "stages"),
    [
        ({"+ first": "- first"}, {"loss", "gradient", "optimizer"}),
        (
            {"constant_initializer(0.25)": "constant_initializer(0.26)", "learning_rate=0.5": "learning_rate=0.4"},
            {"initial", "optimizer"},
        ),
        ({"AdagradOptimizer(0.5)": "AdagradOptimizer(0.5, 0.2)"}, {"initial"}),
    ],
    ids=["sign", "initial value and rate", "dense slots"],
)
def test_a_change_in_the_converted_program_is_found(
    adagrad: tuple[str, Pair], changes: dict[str, str], stages: set[str], tmp_path: Path
) -> None:
    text, pair = adagrad
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    path = tmp_path / "program.py"
    path.write_text(text)
    found = failures(follow(pair.recorded, str(path)))
    assert {c.stage for c in found} == stages
    assert {c.verdict for c in found} == {"differs"}


def test_verify_reports_a_change_of_values_as_work_that_remains(tmp_path: Path) -> None:
    path, text = program(tmp_path, "AdamOptimizer(0.01)")
    lazy = converted(text, tmp_path / "converted")
    lazy.write_text(lazy.read_text().replace("import adam", "import lazy_adam as adam"))
    report = tmp_path / "r.json"
    result = CliRunner().invoke(verify, [str(path), str(lazy), "--steps", "3", "--report", str(report)])
    assert result.exit_code == 1
    assert "a step computes other values by design" in result.output
    found = [c for c in read_report(str(report)).verifications[0].comparisons if c.verdict != "equal"]
    assert {(c.stage, c.verdict) for c in found} == {("optimizer", "changes-values")}
    rows = next(c for c in found if c.name == "table [table]")
    assert "AdamOptimizer became lazy Adam" in rows.note and rows.max_abs > 0


def test_a_program_that_trains_for_too_few_steps(tmp_path: Path) -> None:
    path, text = program(tmp_path, "AdagradOptimizer(0.5)")
    path.write_text(text.replace("range(8)", "range(2)"))
    with pytest.raises(MigrateError, match="give --steps 2"):
        measure(str(path), str(path), SETTINGS)


#: Sparse and ragged tensors leave a dataset as variants, which are no arrays; NumPy's numbers have no seed.
DATASET = """
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def parse(number):
    ids = tf.range(number % 3 + 1, dtype=tf.int64) * 5 % 40
    words = tf.SparseTensor(ids[:, None], ids, [40])
    pages = tf.RaggedTensor.from_row_lengths(ids, [tf.size(ids)])
    return words, pages, tf.cast(number % 2, tf.float32)


dataset = tf.data.Dataset.range(200).map(parse).batch(4)
words, pages, label = tf.data.make_one_shot_iterator(dataset).get_next()
W = tf.get_variable("W", [40, 4], initializer=tf.random_normal_initializer(0, 0.1))
P = tf.get_variable("P", [40, 4], initializer=tf.random_normal_initializer(0, 0.1))
out = tf.nn.embedding_lookup_sparse(W, words, None, combiner="mean")
out += tf.reduce_sum(tf.reshape(tf.nn.embedding_lookup(P, pages.flat_values), [-1, 4]), 0)
for number, draw in enumerate((np.random, np.random.default_rng(), np.random.RandomState())):
    out += out @ tf.Variable(draw.normal(size=(4, 4)).astype("f") / 9, name="k%d" % number)
loss = tf.reduce_mean((tf.reduce_sum(out, 1) - label * np.random.rand()) ** 2)
train = tf.train.AdagradOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(8):
        session.run(train)
"""


def test_tensors_of_a_dataset_are_recorded_and_what_has_no_seed_is_drawn_alike(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(DATASET)
    pair = run(path, DATASET, tmp_path)
    assert failures(pair) == []
    assert not any("float64" in note for note in pair.notes)


def test_a_program_without_tables_is_not_a_conversion(adagrad: tuple[str, Pair], tmp_path: Path) -> None:
    path, _ = program(tmp_path, "AdagradOptimizer(0.5)")
    with pytest.raises(MigrateError, match="creates no table"):
        follow(adagrad[1].recorded, str(path))
