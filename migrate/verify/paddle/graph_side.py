"""What converted models of both modes share in their TensorFlow process: they are measured by passes and by steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf

from migrate.verify.distributions import Distribution, distribution_at
from migrate.verify.paddle.trainer.common import optimizer
from migrate.verify.recording import Array, Moment, Recording, held_by, packed
from migrate.verify.settings import Settings
from migrate.verify.without_buckets import CLIPPED, Shared, by_bucket, gave_up, of_buckets
from runtime import nn
from runtime.initializers import initializer_text
from runtime.native.base_keys import are_base_keys
from runtime.nn.initializer import Assign, Initializer
from runtime.nn.weights.table_weight import Padded
from runtime.nn.weights.weight import Weight

v1 = tf.compat.v1
S = TypeVar("S", bound="GraphSide")


class GraphSide:
    """The model's graphs for training and evaluation, with one set of weights."""

    outputs: dict[str, list[tf.Tensor]]
    loss: Any
    gradients: dict[str, Any]  #: of the loss, by weight
    updates: Sequence[Any] = ()  #: ops that training runs besides the step
    weights: dict[str, Any]
    parameters: frozenset[str]  #: weights whose gradients are compared; of others, the running values
    #: kind -> the op of a step, and the gradients that it applies
    steps: dict[str, tuple[tf.Operation, dict[str, Any]]]
    by_norm = False  #: whether the program's own optimizer clips by a norm
    evaluated: Sequence[tf.Tensor] = ()
    failure = ""  #: of the evaluation
    resets: Sequence[Any] = ()  #: of metrics that the program defines itself
    counted: Sequence[Any] = ()  #: what training adds to them
    measures: Mapping[str, Any] = {}  #: what they give

    def feed(self, items: Any) -> dict[tf.Tensor, Array]:
        """Return what is fed for a batch."""
        raise NotImplementedError

    def load(self, session: Any) -> None:
        """Set all weights to those of the original, in a session with initial values."""
        raise NotImplementedError

    def values(self, session: Any) -> dict[str, Array]:
        """Return all weights by name."""
        raise NotImplementedError

    def whole(self, gradients: Mapping[str, Any]) -> dict[str, Any]:
        """Return gradients that a session has computed, by weight of the original."""
        return {name: of_buckets(self.weights.get(name), array_of(value)) for name, value in gradients.items()}

    def train(self, rates: Mapping[str, float], parameters: Sequence[Any]) -> None:
        """Add the gradients of the loss for weights that are trained, and a step of each kind, as `steps_of`."""
        trained = {name: one for name, one in self.weights.items() if one.trainable}
        variables = [one.variable for one in trained.values()]
        slopes = tf.gradients(self.loss, variables, stop_gradients=nn.stopped())
        self.gradients = {name: one for name, one in zip(trained, slopes, strict=True) if one is not None}
        self.steps_of(rates, [(trained[name], one) for name, one in self.gradients.items()], parameters)

    def steps_of(self, rates: Mapping[str, float], pairs: Sequence[tuple[Any, Any]], weights: Sequence[Any]) -> None:
        """Add a step of each kind for (weight, gradient) pairs; the optimizers have been given all the weights."""
        self.steps = {}
        for kind, rate in rates.items():
            with tf.control_dependencies(self.updates):
                step = optimizer(nn.optimizer, kind, rate, weights).apply_gradients(pairs)
            self.steps[kind] = step, self.gradients

    def distributions(self, session: Any) -> dict[str, Distribution | None]:
        """Return the distributions of initial values that are drawn, by name."""
        return {name: distribution_of(weight) for name, weight in self.weights.items()}

    def padding(self) -> dict[str, int]:
        """Return the padding rows, which are not compared, by weight."""
        return {}


def distribution_of(weight: Weight) -> Distribution | None:
    """Return the distribution of the initial values of a weight; None where they are not drawn, or by none."""
    initializer = weight.initializer
    if isinstance(initializer, Padded):
        initializer = initializer.inner
    if isinstance(initializer, Assign) and isinstance(initializer.value, tf.Tensor):
        return _drawn(initializer.value)
    try:
        if isinstance(initializer, Initializer):
            initializer = initializer.stock(weight.declared_shape)
        distribution = distribution_at(initializer_text(initializer, 1, 1), 0)
    except (ValueError, NotImplementedError):
        return None
    return None if distribution.kind == "constant" else distribution


def _drawn(value: tf.Tensor) -> Distribution | None:
    """Return the distribution of a tensor of random numbers that are scaled and moved by constants, or None."""
    kind = {"RandomStandardNormal": "normal", "RandomUniform": "uniform"}.get(value.op.type)
    if kind is not None:
        return Distribution(kind, 0.0, 1.0)
    for random, other in (value.op.inputs, reversed(value.op.inputs)) if value.op.type in {"AddV2", "Mul"} else ():
        constant, inner = tf.get_static_value(other), _drawn(random)
        if inner is not None and np.ndim(constant) == 0 and constant is not None:
            a, b = inner.a, inner.b
            if value.op.type == "Mul":
                return replace(inner, a=float(a * constant), b=float(b * constant))
            return replace(inner, a=float(a + constant), b=float(b + constant * (inner.kind == "uniform")))
    return None


def ran(kind: Callable[[Mapping[str, Any]], S], job: Mapping[str, Any]) -> tuple[S, Recording]:
    """Build a side of this kind in a graph of its own, and measure it with the weights and batches of the original."""
    with tf.Graph().as_default():
        v1.set_random_seed(1)
        side = kind(job)
        return side, measured(side, job["settings"], job["batches"])


def measured(side: GraphSide, settings: Settings, batches: Sequence[Any]) -> Recording:
    """Measure the same as the worker of the original, in the current graph."""
    initializer = v1.group(v1.global_variables_initializer(), v1.local_variables_initializer())
    with v1.Session() as session:

        def restart() -> None:
            session.run(initializer)
            side.load(session)

        session.run(initializer)
        distributions = side.distributions(session)
        freed = [name for name, weight in side.weights.items() if gave_up(weight)]
        result = Recording(side.values(session), padding=side.padding(), distributions=distributions, freed=freed)
        snapshots = {name: side.weights[name].table.snapshot()[:2] for name in freed}
        for items in batches[: settings.batches]:
            result.passes.append(_pass(side, session, restart, side.feed(items)))
        for kind, step in side.steps.items():
            restart()
            count = 1 if freed else settings.steps
            result.steps[kind] = list(_steps(side, session, step, batches, count, snapshots))
        if side.by_norm and any(len(rows) for one in result.steps["own"] for rows, _ in one.shared.values()):
            result.apart = {"own": CLIPPED}
        result.held = held_by(side.weights, session)
    return result


def _pass(side: GraphSide, session: Any, restart: Callable[[], None], feed: Mapping[Any, Any]) -> Moment:
    restart()
    session.run(side.resets)
    wanted = (side.outputs, side.loss, side.gradients, side.updates, side.counted)
    outputs, loss, gradients, _, _ = session.run(wanted, feed)
    by_stage: dict[str, Any] = {
        "forward": outputs,
        "metrics": {name: np.reshape(value, -1) for name, value in session.run(side.measures).items()},
        "running": {name: value for name, value in side.values(session).items() if name not in side.parameters},
    }
    restart()
    if side.evaluated:
        by_stage["evaluation"] = {"evaluated output": session.run(side.evaluated, feed)}
    return Moment([np.reshape(loss, -1)], by_stage, side.whole(gradients))


def _steps(
    side: GraphSide,
    session: Any,
    step: tuple[tf.Operation, dict[str, Any]],
    batches: Sequence[Any],
    count: int,
    snapshots: Mapping[str, Any],
) -> Iterator[Moment]:
    """Yield of each step the loss before it, the gradients that it applied, and the values after it.

    `snapshots` are keys and rows of the tables whose ids gave up their buckets.
    """
    operation, gradients = step
    before = side.values(session)
    for number in range(count):
        feed = side.feed(batches[number % len(batches)])
        loss = session.run(side.loss, feed)
        _, applied = session.run((operation, gradients), feed)
        after, shared = side.values(session), dict[str, Shared]()
        for name, (keys, rows) in session.run(snapshots).items():
            own = ~are_base_keys(keys)
            after[name], shared[name] = by_bucket(side.weights[name].rules.buckets, after[name], keys[own], rows[own])
        yield Moment(
            [np.reshape(loss, -1)],
            gradients=side.whole(applied),
            values={name: packed(value, before[name]) for name, value in after.items()},
            shared=shared,
        )
        before = after


def array_of(gradient: Any) -> Any:
    """Return a gradient as an array, or as the numbers of its rows and their values."""
    if hasattr(gradient, "indices"):
        return np.asarray(gradient.indices), np.asarray(gradient.values)
    return packed(np.asarray(gradient))
