"""Steps of a program's own loop in eager code, as `migrate trace` and `migrate trial` count them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import tensorflow as tf

from migrate.trace.child.sessions import Asked, Sessions
from migrate.trace.child.steps import Steps
from migrate.trace.child.tape_steps import TapeSteps, optimizers

FUNCTION = type(tf.function(lambda: None))


class Heard(Sessions):
    hears_losses = True

    def __init__(self) -> None:
        self.faults: list[str] = []
        super().__init__(Steps(0, lambda _: None), self.faults)
        self.events: list[Any] = []

    def begins(self) -> None:
        self.events.append("begins")

    def ended(self, seconds: float, losses: Mapping[str, Any], graph: Any, asked: Asked, values: Any) -> None:
        self.events.append({name: round(float(value), 4) for name, value in losses.items()})

    def trained(self, model: Any) -> None:
        assert [tuple(one.shape) for one in model.weights] == [(3,)]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    owners = [(tf.GradientTape, name) for name in ("__enter__", "gradient")] + [(FUNCTION, "__call__")]
    owners += [(kind, name) for kind in optimizers() for name in ("apply_gradients", "apply")]
    for owner, name in owners:
        if name in vars(owner):
            monkeypatch.setattr(owner, name, vars(owner)[name])
    watcher = Heard()
    TapeSteps(watcher).install()
    yield watcher
    assert watcher.faults == []


def weights() -> Any:
    return tf.Variable([1.0, 2.0, 3.0])


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "function"])
def test_a_loop_of_ones_own(heard: Heard, traced: bool) -> None:
    variable, optimizer = weights(), tf.keras.optimizers.SGD(0.5)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(variable)
        optimizer.apply_gradients(zip(tape.gradient(loss, [variable]), [variable], strict=True))
        return {"of": loss, "rows": variable + 0.0}

    train = tf.function(step) if traced else step
    for _ in range(3):
        train()
    assert heard.events == ["begins", {"loss": 6.0}, "begins", {"loss": 4.5}, "begins", {"loss": 3.0}]
    assert heard.steps.count == 3


def test_several_optimizers_and_tapes_are_a_step(heard: Heard) -> None:
    variable, first, second = weights(), tf.keras.optimizers.SGD(0.5), tf.keras.optimizers.Adam(0.5)
    for _ in range(2):
        with tf.GradientTape() as outer, tf.GradientTape() as inner:
            loss = tf.reduce_sum(variable)
        first.apply_gradients([(inner.gradient(loss, variable), variable)])
        second.apply_gradients([(outer.gradient(loss, variable), variable)])
    assert (heard.events.count("begins"), heard.steps.count) == (2, 2)


def test_what_takes_no_step(heard: Heard) -> None:
    """Gradients that nobody applies, functions that only read, `fit`'s own step, and graphs of version 1."""
    variable, optimizer = weights(), tf.keras.optimizers.SGD(0.5)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(variable)
    tape.gradient(loss, variable)
    tf.function(lambda: variable + 1.0)()
    with heard.busy(), tf.GradientTape() as tape:
        loss = tf.reduce_sum(variable)
    with heard.busy():
        optimizer.apply_gradients([(tape.gradient(loss, variable), variable)])
    with tf.Graph().as_default():
        held = tf.compat.v1.get_variable("held", [3])
        tf.compat.v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(held))
    assert heard.steps.count == 0


def test_an_optimizer_of_version_1_in_eager_code(heard: Heard) -> None:
    variable = weights()
    tf.compat.v1.train.GradientDescentOptimizer(0.5).minimize(lambda: tf.reduce_sum(variable), var_list=[variable])
    assert heard.events == ["begins", {"loss": 6.0}]
