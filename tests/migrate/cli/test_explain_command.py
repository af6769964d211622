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
        assert "Table `item`, made at line 5: left unchanged\n" in text
        assert "\n  line 7: lookup: convertible, but the table has other blockers\n" in text
        assert "\n  line 10: tf-whole-table: `tf.matmul(u, V, transpose_b=True)`: it needs the whole" in text
        assert "; remedy: keep this table dense\n" in text


def test_what_keeps_the_whole_file_and_what_an_assumption_changes(model: Path) -> None:
    text = "\n".join(SOURCE.splitlines()[:7])
    (model / "part.py").write_text("import tensorflow.compat.v1 as tf\ndef f(ids):\n  " + text.splitlines()[3] + "\n")
    with (model / "part.py").open("a") as file:
        file.write("  return tf.nn.embedding_lookup(W, ids)\n")
    stays = explain(3, name="part.py")
    assert "left unchanged, unless you accept the assumptions below (--assume)\n" in stays
    assert "blocked by: tf-training-step: no optimizer in this file trains its tables" in stays
    assert "assumes: the tables are trained where the model is trained\n" in stays
    assert "converted to a dynamic table" in explain(3, "--assume", name="part.py")


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
    assert "Table `user`, made at cell made line 5: converted to a dynamic table\n" in text
    assert "\n  cell read line 1: tf-embedding-lookup: a lookup in `W` becomes `sparse_lookup`\n" in text
    assert "`item`" not in text
    assert "Table `item`" in explain(6, name="m.ipynb:cell made")
    for name, number, problem in (("cell gone", 1, "no such code cell"), ("cell made", 99, "the cell has 6")):
        with pytest.raises(MigrateError, match=problem):
            CliRunner().invoke(
                cli, ["explain", f"m.ipynb:{name}:{number}"], standalone_mode=False, catch_exceptions=False
            )


MADE_THERE = """import tensorflow.compat.v1 as tf
def user(ids):
    W = tf.get_variable("user", [100, 16])
    return W, tf.nn.embedding_lookup(W, ids)
"""
USED_HERE = """import tensorflow.compat.v1 as tf
from parts.made import user
W, e = user(tf.placeholder(tf.int64, [None]))
op = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(e))
print(tf.train.MonitoredSession().run(W))
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"parts/__init__.py": "", "parts/made.py": MADE_THERE, "train.py": USED_HERE}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_file_is_judged_as_in_its_project(project: Path) -> None:
    for name, line in (("parts/made.py", 3), ("train.py", 5)):
        text = explain(line, name=name)
        assert "(analysed in the project ., together with " in text
        assert "left unchanged\n" in text
        assert "`tf.train.MonitoredSession().run(W)`" in text
    assert "Table `user`, made at parts/made.py line 3" in explain(5, name="train.py")
    (project / "train.py").write_text(USED_HERE[: USED_HERE.index("print(")])
    text = explain(3, name="parts/made.py")
    assert "(analysed in the project ., together with train.py)" in text
    assert "converted to a dynamic table" in text


def test_the_project_may_be_named(project: Path) -> None:
    text = explain(3, "--project", "parts", name="parts/made.py")
    assert "(analysed in the project parts; no other file" in text
    assert "train.py" not in text
    with pytest.raises(MigrateError, match="no such directory"):
        cli.main(["explain", "parts/made.py:3", "--project", "none"], standalone_mode=False)


def test_the_head_of_a_project_is_found(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "pyproject.toml").write_text("")
    monkeypatch.chdir(project / "parts")
    assert home_of(Path("made.py")) == project / "parts"  # a run is started where the user is
    monkeypatch.chdir("/")
    assert home_of(project / "parts" / "made.py") == project
    (project / "pyproject.toml").unlink()
    assert home_of(project / "parts" / "made.py") == project  # the outermost package lies in it


TABLES = """import tensorflow.compat.v1 as tf
def build():
    W = tf.get_variable("user", [100, 16])
    return {"user": W}
"""
NET = """import tensorflow.compat.v1 as tf
from tables import build
class Net:
    def __init__(self, ids):
        self.tables = build()
        self.rows = tf.nn.embedding_lookup(self.tables["user"], ids)
        self.more = tf.nn.embedding_lookup(self.tables["user"], ids)
        self.op = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(self.rows + self.more))
    def scores(self, rows):
        users = self.tables["user"]
        return tf.matmul(rows, users, transpose_b=True)
"""
WAY = '    `W` is made (tables.py line 3) -> `return {"user": W}` (tables.py line 4) -> '


def test_the_way_of_a_table_to_its_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"tables.py": TABLES, "net.py": NET}.items():
        (tmp_path / name).write_text(text)
    text = " ".join(explain(11, name="net.py").split())
    way = " ".join(WAY.split())
    assert f'no id lies above them {way} `users = self.tables["user"]` (line 10) -> used as `users`' in text
    assert text.count(way) == 2  # the two lookups are reached alike
    other = " ".join(explain(7, name="net.py").split())
    assert other.count(f"{way} used as") == 2  # that of the line which is explained is always told
    for name, line in (("net.py", 10), ("tables.py", 4)):
        assert "\nTable `user`, made at " in explain(line, name=name)
