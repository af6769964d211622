"""What converted models of both modes share in their TensorFlow process: they are measured by passes and by steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from migrate.verify import training_record
from migrate.verify.distributions import Distribution, distribution_at
from migrate.verify.recording import Array, Moment, Recording, packed
from migrate.verify.settings import Settings
from runtime.initializers import initializer_text
from runtime.nn.initializer import Initializer
from runtime.nn.weights.table_weight import Padded
from runtime.nn.weights.weight import Weight

v1 = tf.compat.v1


class GraphSide:
    """The model's graphs for training and evaluation, with one set of weights."""

    outputs: dict[str, list[tf.Tensor]]
    loss: Any
    gradients: dict[str, Any]  #: of the loss, by weight
    updates: Sequence[Any] = ()  #: ops that training runs besides the step
    weights: dict[str, Any]
    parameters: frozenset[str]  #: weights whose gradients are compared; of others, the running values
    steps: dict[
        str, tuple[tf.Operation, dict[str, Any]]
    ]  #: kind -> the op of a step, and the gradients that it applies
    evaluated: Sequence[tf.Tensor] = ()
    failure = ""  #: of the evaluation
    resets: Sequence[
        Any
    ] = ()  #: of metrics that the program defines itself; what training adds to them, and what they give
    counted: Sequence[Any] = ()
    measures: Mapping[str, Any] = {}

    def feed(self, items: Any) -> dict[tf.Tensor, Array]:
        """Return what is fed for a batch."""
        raise NotImplementedError

    def load(self, session: Any) -> None:
        """Set all weights to those of the original, in a session with initial values."""
        raise NotImplementedError

    def values(self, session: Any) -> dict[str, Array]:
        """Return all weights by name."""
        raise NotImplementedError

    def distributions(self, session: Any) -> dict[str, Distribution | None]:
        """Return the distributions of initial values that are drawn, by name."""
        return {name: distribution_of(weight) for name, weight in self.weights.items()}

    def padding(self) -> dict[str, int]:
        """Return the padding rows, which are not compared, by weight."""
        raise NotImplementedError


def distribution_of(weight: Weight) -> Distribution | None:
    """Return the distribution of the initial values of a weight; None where they are not drawn, or by none."""
    initializer = weight.initializer
    if isinstance(initializer, Padded):
        initializer = initializer.inner
    try:
        if isinstance(initializer, Initializer):
            initializer = initializer.stock(weight.declared_shape)
        distribution = distribution_at(initializer_text(initializer, 1, 1), 0)
    except (ValueError, NotImplementedError):
        return None
    return None if distribution.kind == "constant" else distribution


def measured(side: GraphSide, settings: Settings, batches: Sequence[Any]) -> Recording:
    """Measure the same as the worker of the original, in the current graph."""
    initializer = v1.group(v1.global_variables_initializer(), v1.local_variables_initializer())
    with v1.Session() as session:

        def restart() -> None:
            session.run(initializer)
            side.load(session)

        session.run(initializer)
        distributions = side.distributions(session)
        result = Recording(side.values(session), padding=side.padding(), distributions=distributions)
        for items in batches[: settings.batches]:
            result.passes.append(_pass(side, session, restart, side.feed(items)))
        for kind, step in side.steps.items():
            restart()
            result.steps[kind] = list(_steps(side, session, step, batches, settings.steps))
        result.held = training_record.held_by(side.weights, session)
    return result


def _pass(side: GraphSide, session: Any, restart: Callable[[], None], feed: Mapping[Any, Any]) -> Moment:
    restart()
    session.run(side.resets)
    wanted = (side.outputs, side.loss, side.gradients, side.updates, side.counted)
    outputs, loss, gradients, _, _ = session.run(wanted, feed)
    found: dict[str, Any] = {
        "forward": outputs,
        "metrics": {name: np.reshape(value, -1) for name, value in session.run(side.measures).items()},
        "running": {name: value for name, value in side.values(session).items() if name not in side.parameters},
    }
    restart()
    if side.evaluated:
        found["evaluation"] = {"evaluated output": session.run(side.evaluated, feed)}
    return Moment([np.reshape(loss, -1)], found, {name: _rows(value) for name, value in gradients.items()})


def _steps(
    side: GraphSide, session: Any, step: tuple[tf.Operation, dict[str, Any]], batches: Sequence[Any], count: int
) -> Iterator[Moment]:
    """Yield of each step the loss before it, the gradients that it applied, and the values after it."""
    operation, gradients = step
    before = side.values(session)
    for number in range(count):
        feed = side.feed(batches[number % len(batches)])
        loss = session.run(side.loss, feed)
        _, applied = session.run((operation, gradients), feed)
        after = side.values(session)
        yield Moment(
            [np.reshape(loss, -1)],
            gradients={name: _rows(value) for name, value in applied.items()},
            values={name: packed(value, before[name]) for name, value in after.items()},
        )
        before = after


def _rows(gradient: Any) -> Any:
    """Return an array, or the rows of one and their values, as a pair."""
    if isinstance(gradient, np.ndarray | np.generic):
        return packed(np.asarray(gradient))
    return np.asarray(gradient.indices), np.asarray(gradient.values)
