"""`Adadelta` and `Lamb`, which scale each movement by how large the weight, or its last movements, are."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import tensorflow as tf

from runtime.nn.optimizer.adam import Adam
from runtime.nn.optimizer.base import Optimizer, Step
from runtime.nn.optimizer.groups import Group
from runtime.nn.weights.weight import Weight

v1 = tf.compat.v1


class Adadelta(Optimizer):
    """`s = rho s + (1 - rho) g * g; m = g sqrt((u + epsilon) / (s + epsilon)); u = rho u + (1 - rho) m * m`.

    Then `w -= rate * m`.
    """

    every_row = "the means of squares of all rows decay at each step"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        epsilon: float = 1.0e-6,
        rho: float = 0.95,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        """Take the settings; a table cannot be trained.

        Args:
            learning_rate: a float or a scheduler of `lr`.
            epsilon: keeps divisor and first movements above 0.
            rho: how much of both means of squares stays.
            parameters: weights, or dictionaries with `params` and settings that differ for them.
            weight_decay: a float for L2Decay, or a regularizer.
            grad_clip: of `runtime.nn`.
            name: of the variables.

        Raises:
            ValueError: an argument is something else.
        """
        settings = {"epsilon": epsilon, "rho": rho}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, settings)

    def _on_variable(self, step: Step) -> tf.Operation:
        weight, gradient, rho, epsilon = step.weight, step.gradient, step.settings["rho"], step.settings["epsilon"]
        square, moved = self.slot(weight, "avg_squared_grad"), self.slot(weight, "avg_squared_update")
        squares = rho * square + (1 - rho) * gradient * gradient
        move = gradient * tf.sqrt((moved + epsilon) / (squares + epsilon))
        moves = rho * moved + (1 - rho) * move * move
        update = v1.assign_sub(weight.variable, step.rate * move)
        return tf.group(update, v1.assign(square, squares), v1.assign(moved, moves))


class Lamb(Adam):
    """`r = M / (sqrt(V) + epsilon) + decay * w; w -= rate * |w| / |r| * r`, with M and V as in `Adam`.

    The factor is 1 where one of both lengths is 0.
    """

    every_row = "the length of the whole matrix scales each step"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        parameters: Any = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Weight], bool] | None = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        """Take the settings; a table cannot be trained.

        Args:
            learning_rate: a float or a scheduler of `lr`.
            lamb_weight_decay: how fast weights shrink.
            beta1: as in `Adam`.
            beta2: as in `Adam`.
            epsilon: keeps the divisor above 0.
            parameters: weights, or dictionaries with `params` and settings that differ for them.
            grad_clip: of `runtime.nn`.
            exclude_from_weight_decay_fn: whether a weight does not shrink; None: all do.
            multi_precision: has no effect.
            always_adapt: whether weights without decay get the factor, too.
            name: of the variables.

        Raises:
            ValueError: an argument is something else, or a beta is not in [0, 1).
        """
        self._keeps = exclude_from_weight_decay_fn or (lambda weight: False)
        super().__init__(
            learning_rate,
            beta1,
            beta2,
            epsilon,
            parameters,
            None,
            grad_clip,
            multi_precision=multi_precision,
            name=name,
        )
        for group in self._groups:
            group.settings.update({"lamb_weight_decay": lamb_weight_decay, "always_adapt": always_adapt})

    def _choices(self, group: Group) -> Hashable:
        return tuple(bool(self._keeps(weight)) for weight in group.weights)

    def _on_variable(self, step: Step) -> tf.Operation:
        weight, settings, gradient = step.weight, step.settings, step.gradient
        value = weight.tensor()
        moments = self.slot(weight, "moment1"), self.slot(weight, "moment2")
        betas = [tf.cast(settings[name], gradient.dtype) for name in ("beta1", "beta2")]
        first, second = (
            beta * moment + (1 - beta) * part
            for beta, moment, part in zip(betas, moments, (gradient, gradient * gradient), strict=True)
        )
        mean, square = first / (1 - self._power(step, "beta1")), second / (1 - self._power(step, "beta2"))
        decay = 0.0 if self._keeps(weight) else float(settings["lamb_weight_decay"])
        move = mean / (tf.sqrt(square) + settings["epsilon"]) + decay * value
        factor: Any = 1.0
        if decay > 0 or settings["always_adapt"]:
            lengths = tf.norm(value), tf.norm(move)
            both = tf.logical_and(lengths[0] > 0, lengths[1] > 0)
            factor = tf.where(both, tf.math.divide_no_nan(*lengths), tf.ones_like(lengths[0]))
        update = v1.assign_sub(weight.variable, step.rate * factor * move)
        return tf.group(update, *(v1.assign(old, new) for old, new in zip(moments, (first, second), strict=True)))
