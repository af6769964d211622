"""What a person reads on a terminal: each thing once, broken at words, and at the end what to do next."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from migrate.cli import console
from tests.support import forking
from tests.support.paths import ROOT

HEAD = "import tensorflow.compat.v1 as tf\n"
TABLE = (
    '{0} = tf.get_variable("{0}", [9, 4], initializer=tf.zeros_initializer())\n'
    "e_{0} = tf.nn.embedding_lookup({0}, ids)\n"
)
STEP = "op = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum({}))\n"
GOOD = HEAD + TABLE.format("user") + STEP.format("e_user")
ASKS = HEAD + "import hybridbackend\n" + TABLE.format("item") + STEP.format("e_item")


def screen(columns: int, *arguments: str, cwd: Path) -> list[str]:
    """Return the lines that `migrate` leaves on a terminal of this width, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    command = [forking.python(), "-m", "migrate", *arguments]
    with subprocess.Popen(command, cwd=cwd, env={**environment, "PYTHONPATH": str(ROOT)}, stdout=theirs, stderr=theirs):
        os.close(theirs)
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:  # the terminal's other end is closed
            pass
    os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode())
    return [line.rpartition("\r")[2] for line in plain.replace("\r\n", "\n").splitlines()]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A program that converts, one that asks, and a file without a table."""
    for name, text in (("good.py", GOOD), ("asks.py", ASKS), ("other.py", HEAD)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("columns", [80, 200])
def test_check_says_things_once_and_ends_with_the_next_step(columns: int, work: Path) -> None:
    lines = screen(columns, "check", ".", "--no-cache", cwd=work)
    assert any(line.startswith("checking 3 files") for line in lines), lines
    lines = lines[lines.index("2 programs with tables:") :]
    assert lines[-1] == "next: migrate convert .", lines
    assert max(map(len, lines)) <= columns
    text = re.sub(r"\s+", " ", " ".join(lines))
    assert text.count("`hybridbackend` may start several processes") == 1
    assert text.count("user (line 2)") == 1 and "becomes the dynamic table" not in text
    assert "--assume=tf-" in text


def test_all_findings_are_printed_where_a_program_reads(work: Path) -> None:
    done = subprocess.run(
        [forking.python(), "-m", "migrate", "check", "."],
        cwd=work, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "good.py:2: convertible, exact: `user` becomes the dynamic table `user`" in done.stdout
    assert done.stderr.splitlines()[-1] == "next: migrate convert ."


def test_what_explains_is_next_where_nothing_converts_at_once(work: Path) -> None:
    (work / "good.py").unlink()
    assert screen(80, "check", ".", cwd=work)[-1] == "next: migrate explain asks.py:2"


def test_many_tables_of_one_verdict_are_counted(tmp_path: Path) -> None:
    names = [f"t{at:02}" for at in range(12)]
    text = HEAD + "".join(map(TABLE.format, names)) + STEP.format(" + ".join(f"e_{name}" for name in names))
    (tmp_path / "many.py").write_text(text)
    lines = screen(80, "check", "many.py", cwd=tmp_path)
    assert "  t07 (line 16): convertible, exact, 1 lookup" in lines
    assert "  and 4 more tables: convertible, exact (-v)" in lines
    assert not any("t08" in line for line in lines)
    assert sum("t08 (line" in line for line in screen(80, "check", "-v", "many.py", cwd=tmp_path)) == 1


def test_lines_break_at_words_and_code_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    text = "  a: \x1b[32mconvertible\x1b[0m by `tf.add(a, b)` and more words"
    assert console.folded(text).split("\n") == [
        "  a: \x1b[32mconvertible\x1b[0m by",
        "      `tf.add(a, b)` and",
        "      more words",
    ]
    long = "x" * 40
    assert console.folded(f"{long} {long}") == f"{long}\n    {long}"
    assert console.folded("an odd ` mark stays") == "an odd ` mark stays"


def test_a_file_whose_tables_are_made_elsewhere_leads_to_its_folder(tmp_path: Path) -> None:
    (tmp_path / "head.py").write_text(
        "import tensorflow as tf\nfrom tables import users\n\n\ndef model(ids):\n"
        "    return tf.nn.embedding_lookup(users, ids)\n"
    )
    (tmp_path / "tables.py").write_text("import tensorflow as tf\nusers = tf.get_variable('users', [9, 4])\n")
    lines = screen(200, "check", "head.py", cwd=tmp_path)
    assert "note: head.py looks rows up, but no file that was read makes the table; give the folder of" in lines[-2]
    assert lines[-1] == "next: migrate check ."
    lines = screen(200, "check", ".", cwd=tmp_path)
    assert lines[-1] == "next: migrate convert ." and not any("looks rows up" in line for line in lines)


def test_a_file_that_only_imports_leads_to_its_folder(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import tensorflow as tf\nimport model\n\nmodel.build().train(lambda: 1)\n")
    (tmp_path / "model.py").write_text("def build():\n    pass\n")
    assert screen(200, "check", "train.py", cwd=tmp_path)[-1] == "next: migrate check ."
    (tmp_path / "model.py").unlink()
    assert not screen(200, "check", "train.py", cwd=tmp_path)[-1].startswith("next")


def test_what_convert_cannot_reach_is_tried_in_the_graph(tmp_path: Path) -> None:
    """Two kinds of weights that no table of `check` is: those of a canned estimator, and of linear columns."""
    (tmp_path / "wide.py").write_text(
        "import tensorflow.compat.v1 as tf\n\n"
        "columns = [tf.feature_column.categorical_column_with_identity('user', 9)]\n"
        "logits = tf.feature_column.linear_model({}, columns)\n"
        "tf.estimator.LinearClassifier(columns).train(lambda: 1)\n"
    )
    lines = screen(300, "check", "wide.py", cwd=tmp_path)
    assert lines[-1] == "next: migrate trial -- python wide.py"
    assert sum("`migrate run`" in line for line in lines) == 2
    assert any(line.startswith("  note, line 4: `linear_model` creates a variable") for line in lines)


def test_each_line_of_a_longer_text_is_broken_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """`migrate trace` says several lines; the second began in the middle of the first."""
    monkeypatch.setenv("COLUMNS", "20")
    printed: list[str] = []
    monkeypatch.setattr(console, "echo", lambda text, **_: printed.append(text))
    monkeypatch.setattr(console.sys, "stderr", type("Terminal", (), {"isatty": lambda _: True})())
    console.say("wrote a.json\nvariables that move: 2")
    assert printed == ["wrote a.json\nvariables that move:\n    2"]
