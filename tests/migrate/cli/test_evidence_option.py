"""`--evidence` on the command line: what is an error, and what `explain` says of a decision."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from migrate.cli.main import cli
from tests.support.source.runs import record

TEXT = (
    "import sys\nimport tensorflow.compat.v1 as tf\n\ntf.disable_eager_execution()\n"
    'W = tf.get_variable("item", [9, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\nn = eval(sys.argv[1])\n"
    "step = tf.train.AdagradOptimizer(0.1).minimize(e)\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.py").write_text(TEXT)
    (tmp_path / "trace.json").write_text(record({"main.py": TEXT}).dump())
    return tmp_path


def said(*arguments: str, given: str = "") -> tuple[int, str]:
    result = CliRunner().invoke(cli, arguments, input=given)
    return result.exit_code, f"{result.output}{result.exception or ''}"


@pytest.mark.usefixtures("folder")
def test_a_table_is_decided() -> None:
    code, text = said("check", "main.py", "--evidence", "trace.json", "--no-cache")
    assert code == 1
    assert "convertible, at run time" in text
    explained = said("explain", "main.py:5", "--evidence", "trace.json")[1]
    assert "decided by a recorded run" in " ".join(explained.split())


def test_what_is_no_evidence_is_an_error(folder: Path) -> None:
    (folder / "none.json").write_text("[]")
    for given, words in {
        "none.json": "not a record of `migrate trace`",
        "missing.json": "cannot be read",
        "main.py": "no JSON",
    }.items():
        code, text = said("check", "main.py", "--evidence", given)
        assert code != 0
        assert words in text
    assert "a record names files" in said("check", "-", "--evidence", "trace.json", given=TEXT)[1]
    (folder / "main.py").write_text(TEXT + "\n")
    assert "was changed since the run" in said("check", "main.py", "--evidence", "trace.json")[1]
