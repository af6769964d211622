"""`migrate graph`: every kind of file that TensorFlow writes is read; `--report`; `--verify N` runs both graphs."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.report import writers
from migrate.report.model import State
from migrate.report.serialize import read_report
from rewriter.graph.view import GraphView
from rewriter.offline import rewriting
from rewriter.plan.planner import explain
from tests.support.command import invoked

v1 = tf.compat.v1
graph_command = functools.partial(invoked, "graph")


def test_explain_tells_the_way_and_the_reason(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("user", [10, 4], use_resource=True)
        rows = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None], "ids"))
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_max(table, name="decay"), var_list=[table])
        tf.tanh(rows, name="hidden")
        view = GraphView.of(graph)
        tf.io.write_graph(graph, str(tmp_path), "graph.pb", as_text=False)
    assert graph_command(tmp_path / "graph.pb", "--explain", "hidden:0")[:2] == (0, explain(view, "hidden:0") + "\n")
    text = explain(view, "hidden:0")
    assert text.startswith("`hidden:0` comes from the variable `user` (user → embedding_lookup → ")
    assert "`user` stays a variable: Max `decay` uses the whole variable" in text
    assert explain(view, "ids") == "`ids` is not computed from a variable: there is nothing to replace"
    with pytest.raises(ValueError, match="the graph has no tensor `hiden`"):
        explain(view, "hiden")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "absent.pb", "absent.pb does not exist: give a .pb"),
        (b"\xff\xff\xff", "torn.pb", "torn.pb is not a GraphDef"),
        (b"\xff\xff\xff", "saved_model.pb", "saved_model.pb is not a SavedModel"),
        (b'node { name: "a" op: "Identity" input: "b" }', "cut.pbtxt", "`a` reads `b`, which is not in the graph"),
        (
            b'node { name: "a:b" op: "NoOp" }',
            "odd.pbtxt",
            "odd.pbtxt has a node named `a:b`, which TensorFlow does not",
        ),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: Any, name: str, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(MigrateError) as error:
        graph_command(tmp_path / name)
    assert message in str(error.value)


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


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.one_case
def test_a_report_in_several_formats(meta: Path, tmp_path: Path, written: bool) -> None:
    paths = [tmp_path / name for name in ("r.json", "r.html", "r.md")]
    target = [tmp_path / "out.meta"] if written else []
    assert graph_command(meta, *target, *(word for path in paths for word in ("--report", path)))[0] == 1
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
        graph_command(meta, tmp_path / "out.meta", "--report", tmp_path / "r.html")
    assert sorted(tmp_path.iterdir()) == [meta]


@pytest.mark.parametrize("other", [["--json"], ["--explain", "user:0"]])
def test_what_is_printed_is_one_thing(meta: Path, other: list[str]) -> None:
    with pytest.raises(MigrateError, match=f"--output-format sarif prints a report, and {other[0]} something else"):
        graph_command(meta, "--output-format", "sarif", *other)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A MetaGraph of a model that Adam trains."""
    with tf.Graph().as_default():
        table = v1.get_variable("user", [300, 4], use_resource=True)
        rows = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None, 2], "ids"))
        v1.train.AdamOptimizer().minimize(tf.reduce_sum(tf.square(rows)))
        v1.train.export_meta_graph(str(tmp_path / "model.meta"))
    return tmp_path / "model.meta"


def test_a_graph_that_differs_is_not_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stock = rewriting.rewrite_meta_graph

    def broken(*given: Any) -> Any:
        done = stock(*given)
        (update,) = [node for node in done.content.graph_def.node if node.op == "RecApply"]
        update.attr["starts"].list.f[0] = 0.5
        return done

    monkeypatch.setattr("rewriter.offline.multi_graph.rewrite_meta_graph", broken)
    code, output, _ = graph_command(file, file.with_name("new.meta"), "--verify", "3")
    assert code == 1
    assert output.startswith("the rewritten graph DIFFERS over 1 step")
    assert "table `user`" in output
    assert not file.with_name("new.meta").exists()


def test_what_cannot_be_made_up_is_an_error(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        words = v1.placeholder(tf.string, [None], "words")
        ids = tf.strings.to_hash_bucket_fast(words, 30)
        tf.reduce_sum(v1.nn.embedding_lookup(v1.get_variable("user", [30, 4]), ids))
        tf.io.write_graph(graph, str(tmp_path), "model.pb", as_text=False)
    with pytest.raises(MigrateError, match="string values of the placeholder `words` cannot be synthesized"):
        graph_command(tmp_path / "model.pb", tmp_path / "new.pb", "--verify", "1")
    assert not (tmp_path / "new.pb").exists()
    with pytest.raises(MigrateError, match="--explain does not run the graph; remove --verify"):
        graph_command(tmp_path / "model.pb", "--explain", "user", "--verify", "1")
