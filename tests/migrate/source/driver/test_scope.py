"""Entry points: which files belong to a run, what stays outside, and what a wrong entry point says."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.report.model import State
from migrate.source.driver.run import Converted, convert_paths
from migrate.source.settings.options import Given, Options

MODEL = """\
import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("item", [1000, 8], initializer=tf.zeros_initializer())
    return tf.nn.embedding_lookup(table, ids), table
"""
TRAIN = """\
import tensorflow.compat.v1 as tf
from model import build

rows, _ = build(tf.placeholder(tf.int64, [None]))
tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
"""
TEST = """\
import tensorflow.compat.v1 as tf
from model import build

_, table = build([1])
assert tf.losses.add_loss(tf.matmul(table, table, transpose_b=True)) is None
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose tests need the whole matrix, which its program does not."""
    monkeypatch.chdir(tmp_path)
    files = {"model.py": MODEL, "train.py": TRAIN, "tests/test_model.py": TEST, "docs/other.py": "import tensorflow\n"}
    for name, text in files.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "p"


def convert(*entries: str) -> dict[str, Converted]:
    done = convert_paths(["p"], Options(overrides=Given(entry=entries or None)))
    return {one.result.path: one for one in done}


def changed(done: dict[str, Converted]) -> set[str]:
    return {path for path, one in done.items() if one.result.changed}


def test_what_no_entry_point_reaches_keeps_no_table(work: Path) -> None:
    assert changed(convert()) == set()
    assert changed(convert("p/train.py")) == {"p/model.py", "p/train.py"}


def test_files_outside_are_counted_and_those_that_use_converted_ones_are_named(work: Path) -> None:
    done = convert("p/train.py")
    (told,) = [one for one in done["p/train.py"].result.findings if one.rule == "entry-point"]
    assert told.message == "2 of 4 files are outside: left unchanged, and not analysed"
    assert told.reason == "not reached from `p/train.py`"
    (test,) = done["p/tests/test_model.py"].result.findings
    assert (test.rule, test.state) == ("entry-point", State.NOTED)
    assert test.reason == "it imports `p/model.py`, which is converted"
    assert "p/docs/other.py" not in done


def test_an_entry_point_that_needs_the_matrix_keeps_the_table(work: Path) -> None:
    assert changed(convert("p/train.py", "p/tests/*.py")) == set()
    assert changed(convert("p/**/*.py")) == set()


def test_the_packages_of_an_entry_point_belong_to_the_run(work: Path) -> None:
    (work / "tests" / "__init__.py").write_text("")
    (work / "jobs").mkdir()
    (work / "jobs" / "__init__.py").write_text("import tests.test_model\n")
    (work / "jobs" / "fit.py").write_text(TRAIN)
    done = convert("p/jobs/fit.py")
    (told,) = [one for one in done["p/jobs/fit.py"].result.findings if one.rule == "entry-point"]
    assert told.message.startswith("2 of 7 files are outside")  # train.py and docs/other.py


def test_the_configuration_names_entry_points_relative_to_itself(work: Path) -> None:
    (work / "pyproject.toml").write_text('[tool.migrate]\nentry = ["train.py"]\n')
    assert changed(convert()) == {"p/model.py", "p/train.py"}
    assert changed(convert("p/tests/test_model.py")) == set()
    alone = convert_paths(["p/tests/test_model.py"], Options(overrides=Given()))  # as an editor does
    assert [one.result.path for one in alone] == ["p/tests/test_model.py"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("p/nope.py", "entry point p/nope.py: names no file; give a file or a pattern below the given paths"),
        ("other.py", "entry point other.py: is not among the files of this run; give a file"),
        ("", "entry point : names no file"),
    ],
)
def test_an_entry_point_outside_of_the_run_is_an_error(work: Path, entry: str, message: str) -> None:
    Path("other.py").write_text("import tensorflow\n")
    with pytest.raises(MigrateError) as raised:
        convert(entry)
    assert str(raised.value).startswith(message)
