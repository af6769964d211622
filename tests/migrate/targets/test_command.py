"""Targets and switches on the command line and in configuration files; reports, undoing, and files of Paddle."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("tensorflow")
from migrate.cli.main import cli
from migrate.errors import MigrateError

TEXT = (
    "import tensorflow.compat.v1 as tf\n"
    'W = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\n'
    "loss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids))\n"
    "train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.py"
    path.write_text(TEXT)
    return path


@dataclass(frozen=True)
class Done:
    exit_code: int
    stdout: str
    stderr: str


def migrate(*arguments: str) -> Done:
    """Run the command in this process."""
    data, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(data, encoding="utf-8", write_through=True)  # diffs are written as bytes
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main([*arguments], standalone_mode=False)
        except SystemExit as done:
            code = int(done.code or 0)
        except MigrateError as error:
            return Done(2, data.getvalue().decode(), str(error))
    return Done(code, data.getvalue().decode(), err.getvalue())


def test_a_report_names_the_target(model: Path) -> None:
    done = migrate("convert", "model.py", "--target", "deeprec", "--admission", "3", "--report", "r.json")
    assert json.loads(Path("r.json").read_text())["inputs"][0]["target"] == "deeprec"
    assert "CounterFilter(filter_freq=3)" in Path("migrated/model.py").read_text()
    assert "migrate verify" not in done.stderr, "it has no such program here"
    moved = migrate("checkpoint", "old", "new", "--report", "r.json")
    assert (moved.exit_code, "--target deeprec" in moved.stderr) == (2, True)


def test_a_configuration_file_holds_switches(model: Path) -> None:
    text = '[tool.migrate]\ntarget = "deeprec"\nadmission = 3\neviction = "500steps"\n'
    Path("pyproject.toml").write_text(text)
    found = migrate("convert", "model.py", "--diff").stdout
    assert "filter_freq=3" in found
    assert "steps_to_live=500" in found
    assert "filter_freq=7" in migrate("convert", "model.py", "--diff", "--admission", "7").stdout
