"""A converted training program against the original, and changes that must be found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from migrate.cli.verify import verify
from migrate.errors import MigrateError
from migrate.report.model import Comparison
from migrate.source.frontends.tensorflow import convert
from migrate.source.options import Options
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, measure

EXAMPLES = Path(__file__).parents[3] / "examples" / "tensorflow"
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


def run(original: Path, text: str, tmp_path: Path, change: Callable[[str], str] = str) -> Pair:
    """Convert, change the result and measure both."""
    path = converted(text, tmp_path / "converted")
    changed = change(path.read_text())
    assert change is str or changed != path.read_text()
    path.write_text(changed)
    return measure(str(original), str(path), SETTINGS)


def failures(pair: Pair) -> list[Comparison]:
    return [comparison for comparison in pair.comparisons() if comparison.verdict != "equal"]


@pytest.mark.parametrize("name", ["ctr_session.py", "ctr_estimator.py"])
def test_the_examples_are_equal_on_every_rung(name: str, tmp_path: Path) -> None:
    original = EXAMPLES / name
    pair = run(original, original.read_text(), tmp_path)
    found = list(pair.comparisons())
    assert failures(pair) == []
    assert {c.stage for c in found} == {"initial", "forward", "loss", "gradient", "optimizer"}
    assert {"global_step"} <= {c.name for c in found if c.stage == "optimizer"}
    assert not any("float64" in note for note in pair.notes())


def program(tmp_path: Path, optimizer: str = "GradientDescentOptimizer(0.5)") -> tuple[Path, str]:
    text = PROGRAM.replace("OPTIMIZER", optimizer)
    path = tmp_path / "program.py"
    path.write_text(text)
    return path, text


def test_a_program_of_version_1_with_dropout_leaves_nothing_behind(tmp_path: Path) -> None:
    path, text = program(tmp_path, "AdagradOptimizer(0.5)")
    pair = run(path, text, tmp_path)
    assert failures(pair) == []
    names = [c.name for c in pair.comparisons()]
    assert {"table lookup 0", "table lookup 1", "bias_of_id lookup 0"} <= set(names)
    assert {"table [slots]", "table [idle rows]", "bias_of_id [table]", "weight/Adagrad"} <= set(names)
    assert pair.notes() == ()
    assert {p.name for p in tmp_path.iterdir()} == {"program.py", "converted"}


def test_adam_changes_values_and_says_so(tmp_path: Path) -> None:
    path, text = program(tmp_path, "AdamOptimizer(0.01)")
    pair = run(path, text, tmp_path)
    found = failures(pair)
    assert {(c.stage, c.verdict) for c in found} == {("optimizer", "changes-values")}
    rows = next(c for c in found if c.name == "table [table]")
    assert "AdamOptimizer became lazy Adam" in rows.note
    assert rows.max_abs > 0
    result = CliRunner().invoke(verify, [str(path), str(tmp_path / "converted" / "program.py"), "--steps", "2"])
    assert result.exit_code == 1
    assert "a step computes something else by design" in result.output


@pytest.mark.parametrize(
    ("before", "after", "stages"),
    [
        ("+ first", "- first", {"forward", "loss", "gradient", "optimizer"}),
        ("constant_initializer(0.25)", "constant_initializer(0.26)", {"initial"}),
        ("learning_rate=0.5", "learning_rate=0.4", {"optimizer"}),
    ],
    ids=["sign", "initial value", "rate of the table"],
)
def test_a_change_in_the_converted_program_is_found(before: str, after: str, stages: set[str], tmp_path: Path) -> None:
    path, text = program(tmp_path)
    pair = run(path, text, tmp_path, lambda code: code.replace(before, after))
    assert {c.stage for c in failures(pair)} <= stages
    assert stages - {"forward"} <= {c.stage for c in failures(pair)}
    assert {c.verdict for c in failures(pair)} == {"differs"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import tensorflow as tf\nx = 1\n", "no optimizer step was found"),
        (PROGRAM.replace("OPTIMIZER", "AdagradOptimizer(0.5)").replace("range(8)", "range(0)"), "never runs it"),
        (PROGRAM.replace("OPTIMIZER", "AdagradOptimizer(0.5)").replace("range(8)", "range(2)"), "give --steps 2"),
        ("import tensorflow as tf\nraise KeyError('missing.csv')\n", "running it fails with KeyError: 'missing.csv'"),
    ],
    ids=["no optimizer", "no step", "few steps", "fails"],
)
def test_a_program_that_cannot_be_measured(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(text)
    with pytest.raises(MigrateError, match=words):
        measure(str(path), str(path), SETTINGS)


def test_a_program_without_tables_is_not_a_conversion(tmp_path: Path) -> None:
    path, _ = program(tmp_path)
    with pytest.raises(MigrateError, match="creates no table"):
        measure(str(path), str(path), SETTINGS)
