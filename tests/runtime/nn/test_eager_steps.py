"""Steps of optimizers in eager code: those that are one graph compute the bits of those that are made op by op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import _tf_private_tapes, nn
from runtime.nn import optimizer as optimizers
from runtime.nn.optimizer import eager_steps
from runtime.nn.optimizer.base import Optimizer

ROWS, DIM, STEPS = 12, 3, 5
KINDS: dict[str, Callable[[Any], Optimizer]] = {
    "SGD": lambda weights: optimizers.SGD(0.1, weights),
    "Momentum": lambda weights: optimizers.Momentum(0.1, 0.9, weights, use_nesterov=True),
    "Adagrad": lambda weights: optimizers.Adagrad(0.1, parameters=weights),
    "RMSProp": lambda weights: optimizers.RMSProp(0.1, parameters=weights, centered=True, momentum=0.3),
    "Adam": lambda weights: optimizers.Adam(0.1, parameters=weights),
    "lazy Adam": lambda weights: optimizers.Adam(0.1, parameters=weights, lazy_mode=True),
    "AdamW": lambda weights: optimizers.AdamW(0.1, parameters=weights, apply_decay_param_fun=lambda name: "w" in name),
    "Adamax": lambda weights: optimizers.Adamax(0.1, parameters=weights),
    "Adadelta": lambda weights: optimizers.Adadelta(0.1, parameters=weights),
    "Lamb": lambda weights: optimizers.Lamb(0.1, parameters=weights),
    "clipped": lambda weights: optimizers.Adam(0.1, parameters=weights, grad_clip=nn.ClipGradByGlobalNorm(0.1)),
    "scheduled": lambda weights: optimizers.SGD(optimizers.lr.ExponentialDecay(0.1, 0.5), weights),
}


def _trained(make: Callable[[Any], Optimizer]) -> tuple[list[Any], Optimizer]:
    """Return the weights after some steps: of a table, or a variable of chosen rows, and of a layer."""
    chance = np.random.default_rng(3)
    embedding, layer = nn.Embedding(ROWS, DIM, sparse=True), nn.Linear(DIM, 2)
    optimizer = make([*embedding.parameters(), *layer.parameters()])
    for weight in (*embedding.parameters(), *layer.parameters()):
        weight.set_value(chance.normal(size=weight.declared_shape).astype(np.float32))
    for step in range(STEPS):
        ids = tf.constant(chance.integers(0, ROWS, [step + 3]))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(embedding(ids)) ** 2)
        weights = [*embedding.parameters(), *layer.parameters()]
        for weight, gradient in zip(weights, tape.gradient(loss, [one.variable for one in weights]), strict=True):
            weight.accumulated = gradient
        optimizer.step()
        if isinstance(optimizer._learning_rate, optimizers.lr.LRScheduler):
            optimizer._learning_rate.step()
    rows = embedding(tf.range(ROWS, dtype=tf.int64)).numpy()
    return [rows, *(weight.numpy() for weight in layer.parameters())], optimizer


@pytest.mark.each_case
@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_makes_the_steps_that_ops_make(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_graph, optimizer = _trained(KINDS[kind])
    assert [graph is not None for graph, _ in optimizer._eager._graphs.values()] == [True]
    monkeypatch.setattr(_tf_private_tapes, "records", lambda: True)
    by_ops, optimizer = _trained(KINDS[kind])
    assert [graph is not None for graph, _ in optimizer._eager._graphs.values()] == [False]
    assert all(np.array_equal(*pair) for pair in zip(by_graph, by_ops, strict=True))


def _stepped(optimizer: Optimizer, weight: Any, times: int = 3) -> float:
    """Return how far the last of some steps with a gradient of 1 moves a weight."""
    before = 0.0
    for _ in range(times):
        weight.accumulated, before = tf.ones([1]), float(weight.numpy()[0])
        optimizer.step()
    return before - float(weight.numpy()[0])


def _weight() -> Any:
    weight: Any = nn.create_parameter([1], "float32")
    weight.set_value(np.zeros(1, np.float32))
    return weight


def test_what_changes_between_steps_counts() -> None:
    weight = _weight()
    optimizer = optimizers.SGD(0.5, [weight])
    assert _stepped(optimizer, weight) == 0.5
    weight.attr.learning_rate = 0.5
    assert _stepped(optimizer, weight) == 0.25
    optimizer._learning_rate = 1.0
    assert _stepped(optimizer, weight) == 0.5
    clip = nn.ClipGradByValue(0.5)
    optimizer._groups[0].settings["grad_clip"] = clip
    assert _stepped(optimizer, weight) == 0.25
    clip.max = 0.25
    assert _stepped(optimizer, weight) == 0.125
    assert len(optimizer._eager._graphs) == 4


class _Halved(nn.ClipGradByValue):
    """A program's own clipping, which looks at a number that it keeps."""

    factor = 0.5

    def _clipped(self, pairs: Any) -> list[Any]:
        return [gradient * self.factor for _, gradient in pairs]


def test_code_of_the_program_runs_in_each_step() -> None:
    weight = _weight()
    clip = _Halved(1.0)
    optimizer = optimizers.SGD(1.0, [weight], grad_clip=clip)
    assert eager_steps.kind_of(optimizer._groups[0]) is None
    assert _stepped(optimizer, weight) == 0.5
    _Halved.factor = 0.25
    assert _stepped(optimizer, weight) == 0.25
    own = type("Own", (optimizers.SGD,), {"__module__": "program"})(1.0, [_weight()])
    assert own._kind() is None
