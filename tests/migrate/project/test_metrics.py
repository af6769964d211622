"""Metrics of a project are exact; the best checkpoint is kept, and training stops when none is better."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

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
