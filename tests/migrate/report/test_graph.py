"""Reports of graphs: what they say of a program, and of a file, where no line is known."""

from __future__ import annotations

import hashlib
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.report import writers
from migrate.report.graph_file import file_report
from migrate.report.graph_record import read_record
from migrate.report.model import State
from rewriter import rewrite
from rewriter.graph.files import read_graph
from rewriter.graph.view import GraphView
from rewriter.plan.plan import Plan
from rewriter.plan.planner import make_plan
from rewriter.proof.result import Compared, Proof
from rewriter.record import record

v1 = tf.compat.v1


def recorded(whole: bool = True, more: bool = False) -> dict[str, Any]:
    """Return the record of a model with two tables, of which `item` is used whole if `whole`; `more` adds ops."""
    with tf.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int64, [None], "ids")
        user = v1.get_variable("user", [100, 8], use_resource=True)
        item = v1.get_variable("item", [50, 8], use_resource=True)
        if more:
            ids = tf.identity(tf.nn.relu(ids))
        rows = tf.nn.embedding_lookup(user, ids) + tf.nn.embedding_lookup(item, ids)
        loss = tf.reduce_sum(tf.matmul(rows, item, transpose_b=True, name="scores") if whole else rows)
        v1.train.AdagradOptimizer(0.1).minimize(loss)
        v1.train.Saver()
        return record(rewrite(graph, dry_run=True))


def drawings(page: str) -> list[ET.Element]:
    return [ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def _plan(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda data: change(data["plan"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["schema"].update(major=2), "upgrade recmigrate"),
        (_plan(lambda p: p.pop("tables")), "`tables` is missing"),
        (_plan(lambda p: p["regions"][0]["arrows"][0].update(control=1)), "must be true or false"),
        (_plan(lambda p: p["regions"][0]["boxes"][0].update(ops="user")), "must be a list"),
    ],
)
def test_a_damaged_record_is_one_sentence(change: Callable[[Any], Any], said: str) -> None:
    data = recorded()
    change(data)
    with pytest.raises(MigrateError) as caught:
        read_record(data, "g.json")
    assert said in str(caught.value)
    assert "g.json" in str(caught.value)


def test_a_hostile_record_is_harmless() -> None:
    evil = "</title></svg><script>alert(1)</script>\u202e\x00<style>*{}</style>"
    data = json.loads(json.dumps(recorded()).replace("user", "USER"))
    data["plan"]["regions"][0]["boxes"][0] = {"ops": [evil, evil], "type": evil, "state": evil, "source": evil}
    data["plan"]["regions"][0]["arrows"].append({"start": -5, "end": 10**9, "state": evil, "control": False})
    data["plan"]["regions"][0]["table"] = data["plan"]["tables"][0]["name"] = evil
    page = writers.render(read_record(data, "g.json"), ".html")
    assert len(drawings(page)) == 3
    assert page.count("<script") == 2
    assert "\u202e" not in page and "\x00" not in page
    assert page.count("<style") == 1


def test_a_proof_that_compared_nothing_of_lookups_proves_nothing() -> None:
    proof = Proof(2, ("user",), 1e-5, (Compared("initial values", ("user",), 2, 0.0, 1.0, 1e-5),))
    data = recorded()
    data["proof"] = json.loads(json.dumps(record(Plan((), (), (), ()), proof=proof)))["proof"]
    (found,) = read_record(data, "g.json").verifications
    assert not found.passed


def test_adam_of_a_term_over_all_rows_is_called_adam() -> None:
    """The engine steps it by its rule of rows, with a gradient for each row: no row is left out."""
    with tf.Graph().as_default() as graph:
        user = v1.get_variable("user", [100, 8], use_resource=True)
        rows = tf.nn.embedding_lookup(user, v1.placeholder(tf.int64, [None], "ids"))
        v1.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(rows) + tf.nn.l2_loss(user))
        plan = rewrite(graph, dry_run=True)
    report = read_record(record(plan), "record.json")
    assert "1 lookup" in plan.summary() and ", adam" in plan.summary() and "lazy" not in plan.summary()
    assert report.tables[0].optimizer == "adam"
    assert "trained by adam" in report.findings[0].reason
    assert "lazy" not in plan.to_json().replace('"rule": "lazy_adam"', "")  # the name of the engine's rule


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
