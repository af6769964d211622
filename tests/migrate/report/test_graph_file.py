"""The report of a graph in a file: it names the file where no line is known, and keeps several graphs apart."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import tensorflow as tf

from migrate.report import writers
from migrate.report.graph_file import file_report
from migrate.report.model import State
from rewriter.graph.files import read_graph
from rewriter.graph.view import GraphView
from rewriter.plan.plan import Plan
from rewriter.plan.planner import make_plan

v1 = tf.compat.v1


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A SavedModel of TensorFlow 1 with one table."""
    with tf.Graph().as_default():
        ids = v1.placeholder(tf.int64, [None])
        rows = v1.nn.embedding_lookup(v1.get_variable("user", [10, 4], use_resource=True), ids)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(tmp_path / "saved"), {"ids": ids}, {"rows": rows})
    return tmp_path / "saved"


def plan_of(saved: Path) -> Plan:
    return make_plan(GraphView(read_graph(saved)))


@pytest.mark.parametrize(("written", "state"), [(None, State.AVAILABLE), ("out", State.APPLIED)])
def test_one_graph(saved: Path, written: str | None, state: State) -> None:
    report = file_report(str(saved), {"serve": plan_of(saved)}, written, "migrate graph saved")
    page, text = (writers.render(report, suffix) for suffix in (".html", ".txt"))
    (finding,) = report.findings
    assert (finding.state, finding.table, finding.location.path) == (state, "user", saved.as_posix())
    assert report.inputs[0].sha256 == hashlib.sha256((saved / "saved_model.pb").read_bytes()).hexdigest()
    assert [stage.state for stage in report.stages] == ["ok", "ok" if written else "not run"]
    assert "<svg" in page
    assert "line 0" not in page + text


def test_several_graphs_are_told_apart_by_their_tags(saved: Path) -> None:
    plans = {"serve": plan_of(saved), "train": plan_of(saved)}
    report = file_report(str(saved), plans, None, "migrate graph saved")
    assert [finding.location.scope for finding in report.findings] == ["graph tagged serve", "graph tagged train"]
    assert len(report.tables) == 2
    assert report.stages[0].message.count("1 of 1 variable looked up can be converted") == 2
