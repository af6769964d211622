"""The record that GraphModifierHook writes: what moved, what did not, and where; whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tensorflow as tf

from rewriter import GraphModifierHook
from rewriter.record import RECORD
from tests.support.paths import ROOT
from tests.support.rewriter import traced as trace_models

v1 = tf.compat.v1


def test_the_hook_records_what_it_did(graph: tf.Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    trace_models.whole_model()
    hook = GraphModifierHook(report=str(tmp_path / "graph.json"))
    with v1.train.MonitoredSession(hooks=[hook]):
        pass
    data = json.loads((tmp_path / "graph.json").read_text())
    assert (data["schema"]["name"], data["schema"]["major"]) == RECORD[:2]
    assert hook.plan is not None
    assert [table["name"] for table in data["plan"]["tables"]] == ["user", "item"]
    assert data["plan"]["refusals"][0]["shape"] == [trace_models.ROWS, trace_models.DIM]
    assert [region["table"] for region in data["plan"]["regions"]] == ["user", "item"]
    assert data["environment"]["tensorflow"] == tf.__version__
    assert [path.name for path in tmp_path.iterdir()] == ["graph.json"]


@pytest.mark.parametrize(
    ("name", "said"), [("graph.html", "must name a .json file"), ("none/graph.json", "does not exist")]
)
def test_a_path_that_cannot_be_written_is_refused_at_once(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        GraphModifierHook(report=str(tmp_path / name))


def test_a_proof_is_added_when_it_is_made(graph: tf.Graph, tmp_path: Path) -> None:
    ids = v1.placeholder(tf.int64, [None])
    step = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(trace_models.plain(ids)))
    path = tmp_path / "graph.json"
    with v1.train.MonitoredSession(hooks=[GraphModifierHook(report=str(path), verify=2)]) as session:
        assert json.loads(path.read_text())["proof"] is None
        for _ in range(2):
            session.run(step, {ids: [1, 2]})
        proof = json.loads(path.read_text())["proof"]
    assert proof["ok"]
    assert {"ids", "touched rows"} <= {one["kind"] for one in proof["compared"]}
