"""Metrics of a project are exact; the best checkpoint is kept, and training stops when none is better."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.support.project_programs import opened, printed

v1 = tf.compat.v1


@pytest.fixture
def metrics(project: Path) -> Iterator[dict[str, Any]]:
    """The names of metrics.py, in a graph."""
    with tf.Graph().as_default():
        yield runpy.run_path(str(project / "metrics.py"))


def _pairs_in_order(labels: Any, scores: Any) -> float:
    """The AUC by its definition: of all pairs of a positive and a negative, those in order; ties count half."""
    above = [(p > n) + (p == n) / 2 for p in scores[labels > 0] for n in scores[labels == 0]]
    return float(np.mean(above))


def test_values_of_several_batches(metrics: dict[str, Any]) -> None:
    random = np.random.RandomState(1)
    labels = random.randint(2, size=(23, 2))
    scores = np.round(random.rand(23, 2), 1).astype(np.float32)  # with ties
    evaluation = metrics["Evaluation"]()
    for part in (slice(0, 10), slice(10, 20), slice(20, 23)):
        loss = np.float32(scores[part].mean())
        evaluation.add({"loss": loss, "label": labels[part], "pred": list(scores[part].T)})
    found = evaluation.results()
    assert list(found) == ["loss", "loss_income", "loss_marital", "auc_income", "auc_marital"] == metrics["METRICS"]
    assert found["loss"] == pytest.approx(scores.mean(), rel=1e-6)
    with v1.Session() as session:
        stock = session.run([v1.losses.log_loss(labels[:, i], scores[:, i], epsilon=1e-4) for i in range(2)])
    for i, task in enumerate(("income", "marital")):
        assert found[f"loss_{task}"] == pytest.approx(stock[i], rel=1e-5)
        assert found[f"auc_{task}"] == pytest.approx(_pairs_in_order(labels[:, i], scores[:, i]), abs=1e-12)
    evaluation = metrics["Evaluation"]()
    with pytest.raises(ValueError, match="no whole batch"):
        evaluation.results()
    assert np.isnan(metrics["auc"](np.ones(3), np.arange(3)))
    squared = metrics["Task"]("age", 0, "square_error", 0.0)
    assert metrics["task_loss"](squared, np.array([1, 3]), np.array([2.0, 5.0])) == 2.5


def _watch(kind: Any, seen: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    stock = kind.add

    def add(self: Any, found: dict[str, Any]) -> None:
        seen.append(found)
        stock(self, found)

    monkeypatch.setattr(kind, "add", add)


def test_an_evaluation_counts_every_row(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """64 test rows, in batches of 48: by the definition of the AUC over all rows of the file, in its order."""
    records = tf.data.TFRecordDataset(str(project / "data" / "test.tfrecord"))
    raw = [tf.io.parse_single_example(r, {"label": tf.io.FixedLenFeature([2], tf.int64)})["label"] for r in records]
    for style in ("out", "estimator"):
        with opened(project.parent / style) as program:
            seen: list[dict[str, Any]] = []
            _watch(program["Evaluation"], seen, monkeypatch)
            text = printed(program, eval_batch_size=48)
        labels = np.concatenate([found["label"] for found in seen])
        scores = np.concatenate([np.stack(found["pred"], 1) for found in seen])
        np.testing.assert_array_equal(labels, np.stack([row.numpy() for row in raw]))
        assert len(labels) == 64 and f"auc_income {_pairs_in_order(labels[:, 0], scores[:, 0]):.6f}" in text
        assert text.count("test loss") == 1
    for folder, words in (("out", "have no row"), ("rec_sdk", "64 test rows are fewer than a batch of 256")):
        data = tmp_path / "none" if folder == "out" else project / "data"
        data.mkdir(exist_ok=True)
        (data / "test.tfrecord").touch()
        with opened(project.parent / folder) as program:
            monkeypatch.setattr("sys.argv", ["main.py", str(data)])
            with pytest.raises(SystemExit) as ended:
                program["main"]()
        assert ended.value.code == 2 and words in capsys.readouterr().err


def test_best_and_patience(metrics: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def progress(log: str, metric: str = "auc_income", patience: int = 2) -> Any:
        return metrics["Progress"](metric, patience, str(tmp_path), str(tmp_path / log), True)

    one = progress("log_1")
    nothing = float("nan")
    best = str(tmp_path / "best" / "model.ckpt")
    assert [one.evaluated(step, {"auc_income": auc}) for step, auc in ((1, nothing), (2, 0.6), (3, 0.6))] == [
        "",
        best,
        "",
    ]
    assert not one.stopped
    (tmp_path / "best" / "model.ckpt-2.index").touch()
    again = progress("log_2")  # as after an interruption
    assert again.evaluated(4, {"auc_income": 0.5}) == "" and again.stopped
    assert "stopped" in capsys.readouterr().out
    assert json.loads((tmp_path / "best" / "best.json").read_text())["step"] == 2
    other = progress("log_3", "loss", 0)
    assert other.evaluated(5, {"loss": 3.0}) == best and other.evaluated(6, {"loss": 2.0}) == best
    assert other.evaluated(7, {"loss": 2.5}) == "" and not other.stopped
    with pytest.raises(ValueError, match="no metric 'f1'"):
        progress("log_4", "f1")
    events = [event for file in tmp_path.glob("log_*/*") for event in v1.train.summary_iterator(str(file))]
    seen = {(event.step, value.tag): value.simple_value for event in events for value in event.summary.value}
    assert seen[2, "test/auc_income"] == np.float32(0.6) and seen[6, "test/loss"] == 2.0
