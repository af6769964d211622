"""`--mark`: each statement that keeps a table says so once, in a comment; the code is the same."""

from __future__ import annotations

import ast
import itertools
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.source.driver.convert_file import convert_bytes, convert_text
from migrate.source.settings.options import Options
from tests.support.source.converting import HEAD

MARKED = Options(mark=True)
KEPT = (
    "def build(ids):\n"
    '    W = tf.get_variable("w", [9, 4])\n'
    "    e = tf.nn.embedding_lookup(W, ids)\n"
    "    if ids is not None:\n"
    "        x = tf.cond(c, lambda: tf.matmul(e,\n"
    "                      W, transpose_b=True), lambda: e)\n"
    '    U = tf.get_variable("u", [9, 4])\n'
    "    h = tf.nn.embedding_lookup(U, ids)\n"
    "    return tf.train.AdagradOptimizer(0.1).minimize(x + h)\n"
)


def marks(text: str) -> list[str]:
    """Return each mark with the line below it."""
    lines = text.splitlines()
    return [f"{a.strip()} | {b.strip()}" for a, b in itertools.pairwise(lines) if "# migrate: kept" in a]


def test_each_statement_has_one_mark_and_the_code_is_the_same() -> None:
    plain, result = (convert_text("m.py", HEAD + KEPT, options, {}) for options in (Options(), MARKED))
    assert ast.dump(ast.parse(result.converted)) == ast.dump(ast.parse(plain.converted))
    table, use = marks(result.converted)
    assert table.startswith("# migrate: kept: `tf.matmul(") and "the whole [rows, dim] matrix" in table
    assert table.endswith('| W = tf.get_variable("w", [9, 4])')
    assert use.startswith("# migrate: kept (tf-whole-table): `tf.matmul(") and use.endswith(
        "| x = tf.cond(c, lambda: tf.matmul(e,"
    )
    assert max(map(len, result.converted.splitlines())) <= 120


def test_a_second_run_changes_nothing_and_a_mark_goes_with_its_cause() -> None:
    once = convert_text("m.py", HEAD + KEPT, MARKED, {}).converted
    assert convert_text("m.py", once, MARKED, {}).converted == once
    assert convert_text("m.py", once, Options(), {}).converted == once
    repaired = once.replace(
        "x = tf.cond(c, lambda: tf.matmul(e,\n                      W, transpose_b=True), lambda: e)", "x = e"
    )
    again = convert_text("m.py", repaired.replace("x + h", "x"), MARKED, {}).converted
    assert "tf-whole-table" in once
    assert "tf-whole-table" not in again


def test_several_reasons_are_counted() -> None:
    text = HEAD + 'W = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\nf(W + 1)\nf(tf.matmul(W, e))\n'
    assert marks(convert_text("m.py", text, MARKED, {}).converted)[0].startswith("# migrate: kept for 2 reasons: ")


@pytest.mark.parametrize(
    "text",
    [
        'x = 1; W = tf.get_variable("w", [9, 4])\n',
        'if 1: W = tf.get_variable("w", [9, 4])\n',
        's = """\n"""; W = tf.get_variable("w", [9, 4])\n',
    ],
    ids=["behind a semicolon", "on the line of an if", "behind the end of a string"],
)
def test_a_statement_that_begins_no_line_has_no_mark(text: str) -> None:
    source = HEAD + text + "e = tf.nn.embedding_lookup(W, ids)\nz += W + 1\n"
    converted = convert_text("m.py", source, MARKED, {}).converted
    assert [mark.rpartition("| ")[2] for mark in marks(converted)] in (
        ["z += W + 1"],
        [text.splitlines()[0], "z += W + 1"],
    )
    assert ast.dump(ast.parse(converted)) == ast.dump(ast.parse(source))


def test_line_ends_and_indents_are_those_of_the_file() -> None:
    text = (HEAD + KEPT).replace("\n", "\r\n").replace("    ", "\t")
    converted = convert_text("m.py", text, MARKED, {}).converted
    assert converted.count("\r\n") == converted.count("\n")
    assert "\r\n\t# migrate: kept: " in converted
    assert "\r\n\t\t# migrate: kept (tf-whole-table)" in converted


def test_cells_of_a_notebook() -> None:
    cell = {"cell_type": "code", "id": "a", "source": HEAD + KEPT, "metadata": {}, "outputs": []}
    data = json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}).encode()
    _, after = convert_bytes("m.ipynb", data, MARKED, {})
    source = json.loads(after)["cells"][0]["source"]
    assert len(marks(source if isinstance(source, str) else "".join(source))) == 2


def test_the_command_writes_marks_and_revert_takes_them_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = HEAD + 'W = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\nx += W + 1\n'
    Path("m.py").write_text(text)
    done = CliRunner().invoke(cli, ["convert", "m.py", "--in-place", "--mark"])
    assert done.exit_code == 1, done.output
    assert "next: migrate verify" not in done.stderr
    assert len(marks(Path("m.py").read_text())) == 2
    assert CliRunner().invoke(cli, ["revert", "m.py"]).exit_code == 0
    assert Path("m.py").read_text() == text
