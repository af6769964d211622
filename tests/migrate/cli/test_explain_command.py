"""`migrate explain FILE:LINE`: the table at the line, each use and verdict, and lines with nothing on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.errors import MigrateError

SOURCE = """import tensorflow.compat.v1 as tf
import helpers

W = tf.get_variable("user", [100, 16], initializer=tf.random_normal_initializer(stddev=0.01))
V = tf.get_variable("item", [9, 4], initializer=tf.zeros_initializer())
e = tf.nn.embedding_lookup(W, ids)
f, h = tf.nn.embedding_lookup(V, ids), helpers.embedding_lookup(ids)
U = tf.get_variable("kept", [9, 4])  # migrate: ignore shared
g = tf.nn.embedding_lookup(U, ids)
scores = tf.cond(c, lambda: tf.matmul(u, V, transpose_b=True), lambda: u)
# text




# far from all

layer = tf.contrib.layers.embed_sequence(ids)
op = tf.train.AdagradOptimizer(0.1).minimize(loss)
"""


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    """No width is set, as it may be where tests run."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(SOURCE)
    return tmp_path


def explain(line: int, *more: str, name: str = "model.py") -> str:
    """Return the explanation; its lines joined where they were wrapped."""
    done = CliRunner().invoke(cli, ["explain", f"{name}:{line}", *more])
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 100
    return done.stdout.replace("\n    ", " ")


def test_a_table_that_stays(model: Path) -> None:
    for line in (5, 7, 10):
        text = explain(line)
        assert "Table `item`, created at line 5: left unchanged\n" in text
        assert "\n  line 7: lookup: convertible, but something else keeps the table unchanged\n" in text
        assert "\n  line 10: tf-whole-table: `tf.matmul(u, V, transpose_b=True)`: it needs the whole" in text
        assert "; remedy: leave the variable unchanged\n" in text


@pytest.mark.usefixtures("model")
def test_lines_are_as_wide_as_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a pipe, too; never wider than a page."""
    for columns, most in (("60", 60), ("300", 100)):
        monkeypatch.setenv("COLUMNS", columns)
        lines = CliRunner().invoke(cli, ["explain", "model.py:10"]).stdout.splitlines()
        assert most - 10 < max(map(len, lines)) <= most


def test_many_lookups_of_which_the_same_is_said_are_one_line(model: Path) -> None:
    with (model / "model.py").open("a") as file:
        file.write("x = [tf.nn.embedding_lookup(V, i) for i in ids]\n" * 3)
    kept = "lookup: convertible, but something else keeps the table unchanged\n"
    assert f"\n  lines 7, 20, 21, 22: {kept}" in explain(5)


def test_what_keeps_the_whole_file_and_what_an_assumption_changes(model: Path) -> None:
    text = "\n".join(SOURCE.splitlines()[:7])
    (model / "part.py").write_text("import tensorflow.compat.v1 as tf\ndef f(ids):\n  " + text.splitlines()[3] + "\n")
    with (model / "part.py").open("a") as file:
        file.write("  return tf.nn.embedding_lookup(W, ids)\n")
    stays = explain(3, name="part.py")
    assert "left unchanged, unless you accept the assumptions below (--assume)\n" in stays
    assert "blocked by: tf-training-step: no optimizer in this file trains its tables" in stays
    assert "assumes: the tables are trained where the model is trained\n" in stays
    assert "convertible, it becomes a dynamic table" in explain(3, "--assume", name="part.py")


def test_files_without_a_framework_or_a_table(model: Path) -> None:
    (model / "plain.py").write_text("x = 1\n")
    assert "the file imports neither TensorFlow, nor Keras, nor Paddle" in explain(1, name="plain.py")
    (model / "no_table.py").write_text("import tensorflow as tf\nx = tf.nn.relu(y)\n")
    assert "no table was found in this file" in explain(2, name="no_table.py")


def test_a_line_of_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = {"made": "%matplotlib inline\n" + SOURCE[: SOURCE.index("e =")], "read": SOURCE[SOURCE.index("e =") :]}
    code: list[dict[str, object]] = [
        {"cell_type": "code", "id": name, "source": text, "metadata": {}, "outputs": [], "execution_count": None}
        for name, text in cells.items()
    ]
    notebook = {
        "cells": [{"cell_type": "markdown", "source": "# W"}, *code],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "m.ipynb").write_text(json.dumps(notebook))
    text = explain(1, name="m.ipynb:cell read")
    assert "m.ipynb:cell read:1: e = tf.nn.embedding_lookup(W, ids)\n" in text
    assert "Table `user`, created at cell made line 5: convertible, it becomes a dynamic table\n" in text
    assert "\n  cell read line 1: tf-embedding-lookup: a lookup in `W` becomes `sparse_lookup`\n" in text
    assert "`item`" not in text
    assert "Table `item`" in explain(6, name="m.ipynb:cell made")
    for name, number, problem in (("cell gone", 1, "no such code cell"), ("cell made", 99, "the cell has 6")):
        with pytest.raises(MigrateError, match=problem):
            CliRunner().invoke(
                cli, ["explain", f"m.ipynb:{name}:{number}"], standalone_mode=False, catch_exceptions=False
            )
