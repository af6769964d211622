"""Graph files: every kind that TensorFlow writes is read, and what `migrate graph` says about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.errors import MigrateError
from rewriter.graph.view import GraphView
from rewriter.plan.planner import explain

v1 = tf.compat.v1


def _run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["graph", *arguments])
    if isinstance(result.exception, MigrateError):
        raise result.exception
    return result.exit_code, result.output


def test_explain_tells_the_way_and_the_reason(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("user", [10, 4], use_resource=True)
        rows = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None], "ids"))
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_max(table, name="decay"), var_list=[table])
        tf.tanh(rows, name="hidden")
        view = GraphView.of(graph)
        tf.io.write_graph(graph, str(tmp_path), "graph.pb", as_text=False)
    assert _run(str(tmp_path / "graph.pb"), "--explain", "hidden:0") == (0, explain(view, "hidden:0") + "\n")
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
        _run(str(tmp_path / name))
    assert message in str(error.value)
