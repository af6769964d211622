"""Metrics beside Paddle's, fed with the same batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from runtime import nn

v1 = tf.compat.v1
pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

RANDOM = np.random.default_rng(4)
BATCHES, CLASSES = 5, 4


def probabilities(count: int) -> Any:
    one = RANDOM.uniform(size=(count, 1)).astype(np.float32)
    one[:4, 0] = [0.0, 1.0, 0.5, 0.25]
    return one


def binary() -> list[tuple[Any, Any]]:
    return [(probabilities(n), RANDOM.integers(0, 2, (n, 1))) for n in (7, 20, 9, 33, 8)]


PAIRS = [(np.concatenate([1 - p, p], 1), label) for p, label in binary()]
SCORES = [RANDOM.integers(0, 3, (n, CLASSES)).astype(np.float32) for n in (3, 8, 5, 9, 4)]  # with ties
LABELS = [RANDOM.integers(0, CLASSES, (len(scores), 1)) for scores in SCORES]
ONE_HOT = [np.eye(CLASSES, dtype=np.float32)[label[:, 0]] for label in LABELS]

CASES: dict[str, tuple[Callable[[Any], Any], list[tuple[Any, Any]]]] = {
    "auc": (lambda m: m.Auc("ROC"), PAIRS),
    "auc_coarse": (lambda m: m.Auc(num_thresholds=10, name="coarse"), [(p, label[:, 0]) for p, label in PAIRS]),
    "auc_of_columns": (lambda m: m.Auc(), [(p[..., np.newaxis], label) for p, label in PAIRS]),
    "auc_of_one_kind": (lambda m: m.Auc(), [(p, np.ones_like(label)) for p, label in PAIRS]),
    "precision": (lambda m: m.Precision(), binary()),
    "recall": (lambda m: m.Recall(name="r"), [(p[:, 0], label.astype(np.float32)) for p, label in binary()]),
    "no_hits": (lambda m: m.Recall(), [(p, 0 * label) for p, label in binary()]),
    "accuracy": (lambda m: m.Accuracy(), list(zip(SCORES, LABELS, strict=True))),
    "accuracy_flat": (
        lambda m: m.Accuracy(name="a"),
        [(s, label[:, 0]) for s, label in zip(SCORES, LABELS, strict=True)],
    ),
    "accuracy_one_hot": (lambda m: m.Accuracy(topk=(1, 2, 9)), list(zip(SCORES, ONE_HOT, strict=True))),
}


def updated(metric: Any, preds: Any, labels: Any) -> Any:
    return metric.update(metric.compute(preds, labels)) if hasattr(metric, "topk") else metric.update(preds, labels)


def test_values_are_those_of_paddle() -> None:
    theirs = {name: make(paddle.metric) for name, (make, _) in CASES.items()}
    with tf.Graph().as_default(), v1.Session() as session:
        ours = {name: make(nn.metric) for name, (make, _) in CASES.items()}
        feeds = {
            name: [v1.placeholder(value.dtype, [None, *value.shape[1:]]) for value in data[0]]
            for name, (_, data) in CASES.items()
        }
        each = {name: updated(metric, *feeds[name]) for name, metric in ours.items()}
        batch = {name: value for name, value in each.items() if "accuracy" in name}
        assert [value for name, value in each.items() if name not in batch] == [
            op for op in nn.metric.updates() if op in each.values()
        ]
        total = {name: metric.accumulate() for name, metric in ours.items()}
        reset = [metric.reset() for metric in ours.values()]
        session.run(v1.local_variables_initializer())
        for number in range(BATCHES):
            given = {name: data[number] for name, (_, data) in CASES.items()}
            feed = {one: value for name in CASES for one, value in zip(feeds[name], given[name], strict=True)}
            session.run(nn.metric.updates(), feed)
            accuracies, totals = session.run(batch, feed), session.run(total)
            for name, metric in theirs.items():
                tensors = [paddle.to_tensor(value) for value in given[name]]
                returned = updated(metric, *tensors)
                if name in batch:
                    np.testing.assert_allclose(accuracies[name], returned, 1e-6, err_msg=name)
                np.testing.assert_allclose(totals[name], metric.accumulate(), 1e-12, err_msg=f"{name} {number}")
            if number == 2:
                session.run(reset)
                for metric in theirs.values():
                    metric.reset()
        assert {name: metric.name() for name, metric in ours.items()} == {n: m.name() for n, m in theirs.items()}


@pytest.mark.usefixtures("graph")
def test_a_metric_in_the_graph_adds_its_own_sums() -> None:
    class Mean(nn.metric.Sums):
        def shapes(self) -> dict[str, list[int]]:
            return {"sum": [], "count": []}

        def update(self, values: Any) -> Any:
            return self.add(sum=tf.reduce_sum(values), count=tf.size(values))

        def accumulate(self) -> Any:
            return self.sum("sum") / self.sum("count")

    metric = Mean()
    assert metric.compute(1, 2) == (1, 2)
    update, value = metric.update(tf.constant([1.0, 2.0, 6.0])), metric.accumulate()
    with v1.Session() as session:
        session.run(v1.local_variables_initializer())
        session.run(update)
        assert session.run(value) == 3.0


def own_metrics(metric: Any, framework: Any) -> list[Any]:
    """Return metrics that keep what they count in Python, for Paddle and for graphs."""

    class ByKind(metric.Metric):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.auc = metric.Auc()
            self.reset()

        def update(self, preds: Any, labels: Any, kinds: Any, count: int = 1) -> None:
            assert isinstance(preds, framework.Tensor)
            preds, labels, kinds = preds.numpy(), labels.numpy(), kinds.numpy()
            for kind in range(count):
                self.sizes.append(len(kinds[kinds == kind]))
                self.auc.reset()
                self.auc.update(preds[kinds == kind], labels[kinds == kind])
                self.areas.append(self.auc.accumulate())

        def accumulate(self) -> Any:
            rows = sum(self.sizes)
            return float(sum(n * area for n, area in zip(self.sizes, self.areas, strict=True)) / rows) if rows else 0.0

        def reset(self) -> None:
            self.sizes: list[int] = []
            self.areas: list[float] = []

        def name(self) -> str:
            return "by kind"

    class Weighted(ByKind):
        def update(self, preds: Any, labels: Any, kinds: Any, count: int = 1) -> None:
            super().update(preds, labels, kinds, count=count)
            self.sizes[-1] *= 2

    return [ByKind(), Weighted()]


@pytest.mark.usefixtures("graph")
def test_metrics_that_count_in_python_get_the_values_of_each_step() -> None:
    ours, theirs = own_metrics(nn.metric, tf), own_metrics(paddle.metric, paddle)
    preds, labels, kinds = v1.placeholder(tf.float32, [None, 2]), v1.placeholder(tf.int64), v1.placeholder(tf.int64)
    for metric in ours:
        metric.update(preds, labels, kinds=kinds, count=2)
    values = [metric.accumulate() for metric in ours]
    resets = [metric.reset() for metric in ours]
    assert len(nn.metric.updates()) == 2  # those of the metric inside are not of the graph
    with v1.Session() as session:
        assert session.run(values) == [0.0, 0.0]
        for number, (p, label) in enumerate(PAIRS):
            kind = RANDOM.integers(0, 2, len(p))
            session.run(nn.metric.updates(), {preds: p, labels: label, kinds: kind})
            for metric in theirs:
                metric.update(*map(paddle.to_tensor, (p, label, kind)), count=2)
            expected = [metric.accumulate() for metric in theirs]
            np.testing.assert_allclose(session.run(values), expected, 1e-12)
            assert number < 1 or min(expected) > 0
            if number == 2:
                session.run(resets)
                assert session.run(values) == [0.0, 0.0]
                for metric in theirs:
                    metric.reset()


class Forgetful(nn.metric.Metric):
    def update(self, value: Any) -> None:
        pass

    def accumulate(self) -> Any:
        return None

    def reset(self) -> None:
        pass

    def name(self) -> str:
        return "forgetful"


def test_a_metric_that_returns_nothing_is_an_error_with_a_sentence() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        value = Forgetful().accumulate()
        with pytest.raises(tf.errors.InvalidArgumentError, match="`Forgetful` returned None: let it return a number"):
            session.run(value)
