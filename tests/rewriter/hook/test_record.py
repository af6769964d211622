"""The record that GraphModifierHook writes: what moved, what did not, and where; whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
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


def test_ids_that_stay_in_the_graph_are_there_with_the_line(
    graph: tf.Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    trace_models.plain(v1.placeholder(tf.int64, [None]))  # fed
    with v1.train.MonitoredSession(hooks=[GraphModifierHook(report=str(tmp_path / "graph.json"))]):
        pass
    ids: Any = json.loads((tmp_path / "graph.json").read_text())["ids"]
    assert (ids["moved"], ids["passing"], len(ids["staying"])) == (0, 0, 1)
    assert ids["staying"][0]["table"] == "plain"
    lines = Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.endswith("# fed"))
    assert ids["staying"][0]["source"].startswith(f"tests/rewriter/hook/test_record.py:{line} in test_ids")


def test_an_estimator_records_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if not hasattr(tf, "estimator"):
        pytest.skip("this TensorFlow has no Estimator")
    monkeypatch.chdir(ROOT)

    def model_fn(features: Any, mode: str) -> Any:
        loss = tf.reduce_sum(trace_models.plain(features))
        step = v1.train.AdagradOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    hook = GraphModifierHook(report=str(tmp_path / "graph.json"))
    tf.estimator.Estimator(model_fn, str(tmp_path / "model")).train(
        lambda: tf.data.Dataset.from_tensors(np.array([1, 2])), hooks=[hook], steps=1
    )
    (table,) = json.loads((tmp_path / "graph.json").read_text())["plan"]["tables"]
    line = f"tests/support/rewriter/traced.py:{trace_models.line_of('plain lookup')} in _looked_up"
    assert table["lookups"][0]["source"] == line
    assert table["updates"][0]["source"].startswith("tests/rewriter/hook/test_record.py:")


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
