"""What of a program runs in Python, outside of its graph: metrics of its own, and sparse matrices of SciPy."""

from __future__ import annotations

import textwrap

import pytest

from migrate.source.paddle.abstract.program import Program, execute
from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.emission.files import write

TRAINER = """
import numpy as np
import paddle
import paddle.nn as nn
from scipy.sparse import coo_matrix


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(3, 1)
        self.own = {own}

    def forward(self, x):
        return self.out(x)


class Kept(paddle.metric.Metric):
    def __init__(self):
        super().__init__()
        self.inner = paddle.metric.Auc()
        self.reset()

    def update(self, pred, label):
{update}

    def accumulate(self):
        return self.total / self.count if self.count else 0.0

    def reset(self):
        self.total, self.count, self.rows = 0.0, 0, []


class Steps:
    def __init__(self, parameters):
        self.parameters, self.count = parameters, 0

    def step(self):
        self.count += 1


class DygraphModel:
    def create_model(self, config):
        return Net()

    def create_optimizer(self, model, config):
        return {optimizer}

    def create_metrics(self):
        return [Kept()], ["kept"]

    def train_forward(self, model, metrics, batch, config):
        pred = model(batch[0])
        loss = paddle.mean(paddle.abs(pred - batch[1]))
        metrics[0].update(pred, {given})
        return loss, metrics, None
"""
SGD = "paddle.optimizer.SGD(0.1, parameters=model.parameters())"


def executed(update: str, own: str = "1", optimizer: str = SGD, given: str = "label=batch[1]") -> Program:
    body = textwrap.indent(textwrap.dedent(update), " " * 8)
    text = TRAINER.format(update=body, own=own, optimizer=optimizer, given=given)
    files = {"dygraph_model.py": text, "config.yaml": ""}
    return execute(files, [Tensor((None, 3), "float32"), Tensor((None, 1), "float32")])


def messages(program: Program) -> list[str]:
    return [problem.message for problem in program.run.problems.values()]


UPDATES = {
    "numbers of tensors": (
        "self.total += paddle.mean(pred).item(); self.count += 1",
        "self.total += tf.reduce_mean(pred).numpy().item(); self.count += 1",
    ),
    "arrays stay": (
        "rows = pred.numpy()[label.numpy() > 0]\nself.rows.append(np.log(rows + 1).mean(axis=0).shape[0])",
        "rows = pred.numpy()[label.numpy() > 0]\n        self.rows.append(np.log(rows + 1).mean(axis=0).shape[0])",
    ),
    "both branches": (
        "if label.numpy().sum() > 1:\n    far = paddle.abs(pred)\nelse:\n    far = paddle.square(pred)\n"
        "self.total += float(paddle.max(far))",
        "far = tf.abs(pred)\n        else:\n            far = tf.square(pred)\n"
        "        self.total += float(nn.functional.max(far))",
    ),
    "a metric inside": (
        "self.inner.reset(); self.inner.update(pred.numpy(), label.numpy())\n"
        "self.total += self.inner.accumulate() if self.count > 3 else 0.5",
        "self.total += self.inner.accumulate() if self.count > 3 else 0.5",
    ),
}


@pytest.mark.parametrize("name", UPDATES)
def test_a_metric_keeps_its_python_and_its_tensors_are_converted(name: str) -> None:
    update, expected = UPDATES[name]
    program = executed(update)
    assert messages(program) == []
    text = write(program, "dygraph_model.py").text
    assert expected in text and "class Kept(nn.metric.Metric):" in text


REFUSED = {
    "an array for the metric": ("pass", {"given": "batch[1].numpy()"}, "leave out `.numpy()` here"),
    "a tensor and an array": ("self.total = pred + label.numpy()", {}, "a tensor and an array meet here"),
    "an optimizer of its own": (
        "pass",
        {"optimizer": "(None, Steps(model.parameters()))"},
        "the optimizer `Steps` takes its steps in Python",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_step_in_python_cannot_do_is_refused(name: str) -> None:
    update, others, message = REFUSED[name]
    found = messages(executed(update, **others))
    assert found and message in found[0]
