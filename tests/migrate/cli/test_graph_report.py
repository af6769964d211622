"""`migrate graph --report`: a report in every format asked for, before or beside a written graph."""

from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.errors import MigrateError
from migrate.report import writers
from migrate.report.model import State
from migrate.report.serialize import read_report

v1 = tf.compat.v1


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    """A MetaGraph with a table, and a variable that stays."""
    with tf.Graph().as_default():
        ids = v1.placeholder(tf.int64, [None])
        user, item = (v1.get_variable(name, [30, 4], use_resource=True) for name in ("user", "item"))
        rows = v1.nn.embedding_lookup(user, ids) + v1.nn.embedding_lookup(item, ids)
        v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.matmul(rows, item, transpose_b=True)))
        v1.train.Saver()
        v1.train.export_meta_graph(str(tmp_path / "model.meta"))
    return tmp_path / "model.meta"


def run(*arguments: object) -> int:
    result = CliRunner().invoke(cli, ["graph", *map(str, arguments)])
    if isinstance(result.exception, MigrateError):
        raise result.exception
    return result.exit_code


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.one_case
def test_a_report_in_several_formats(meta: Path, tmp_path: Path, written: bool) -> None:
    paths = [tmp_path / name for name in ("r.json", "r.html", "r.md")]
    target = [tmp_path / "out.meta"] if written else []
    assert run(meta, *target, *(word for path in paths for word in ("--report", path))) == 1
    report = read_report(paths[0])
    states = {finding.table: finding.state for finding in report.findings}
    assert states == {"user": State.APPLIED if written else State.AVAILABLE, "item": State.UNSUPPORTED}
    assert report.command == " ".join(["migrate", "graph", str(meta), *map(str, target)])
    assert report.inputs[0].path == meta.as_posix()
    assert paths[1].read_text().count('class="scroll drawing"') == 1
    assert "uses the whole variable" in paths[2].read_text()


def test_a_report_that_cannot_be_made_leaves_no_graph(
    meta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise MigrateError("no room for a page")

    monkeypatch.setattr(writers, "render", fail)
    with pytest.raises(MigrateError, match="no room"):
        run(meta, tmp_path / "out.meta", "--report", tmp_path / "r.html")
    assert sorted(tmp_path.iterdir()) == [meta]


@pytest.mark.parametrize("other", [["--json"], ["--explain", "user:0"]])
def test_what_is_printed_is_one_thing(meta: Path, other: list[str]) -> None:
    with pytest.raises(MigrateError, match=f"--output-format sarif prints a report, and {other[0]} something else"):
        run(meta, "--output-format", "sarif", *other)
