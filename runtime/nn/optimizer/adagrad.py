"""`Adagrad` and `RMSProp`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.optimizer.base import Optimizer, Step, TableRule

v1 = tf.compat.v1


class Adagrad(Optimizer):
    """`s += g * g; w -= rate * g / (sqrt(s) + epsilon)`."""

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1.0e-6,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        """Take the settings, those of `Optimizer` and these.

        Args:
            epsilon: keeps the divisor above 0.
            initial_accumulator_value: first value of `s`.
        """
        settings = {"epsilon": epsilon, "initial_accumulator_value": initial_accumulator_value}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, settings)

    def table_rule(self, step: Step) -> TableRule:
        """Return the rule."""
        start = float(step.settings["initial_accumulator_value"])
        return TableRule("adagrad", [step.rate, step.settings["epsilon"]], (start,))

    def _on_variable(self, step: Step) -> tf.Operation:
        moment = self.slot(step.weight, "moment", step.settings["initial_accumulator_value"])
        total = moment + step.gradient * step.gradient
        move = step.rate * step.gradient / (tf.sqrt(total) + step.settings["epsilon"])
        return tf.group(v1.assign_sub(step.weight.variable, move), v1.assign(moment, total))


class RMSProp(Optimizer):
    """`s = rho * s + (1 - rho) * g * g; m = momentum * m + rate * g / sqrt(s + epsilon); w -= m`.

    `centered` subtracts the square of the mean gradient, kept like `s`, from `s` in the divisor.
    """

    every_row = "the mean of squares of all rows decays at each step"

    def __init__(
        self,
        learning_rate: Any,
        rho: float = 0.95,
        epsilon: float = 1.0e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        """Take the settings, those of `Optimizer` and these; a table cannot be trained.

        Args:
            rho: how much of `s` stays.
            epsilon: keeps the divisor above 0.
            momentum: how much of the last movement stays.
            centered: whether the variance divides.
        """
        settings = {"rho": rho, "epsilon": epsilon, "momentum": momentum, "centered": centered}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, settings)

    def _on_variable(self, step: Step) -> tf.Operation:
        weight, settings, gradient = step.weight, step.settings, step.gradient
        rho = settings["rho"]
        square, moment = self.slot(weight, "mean_square"), self.slot(weight, "momentum")
        squares = rho * square + (1 - rho) * gradient * gradient
        spread, more = squares, []
        if settings["centered"]:
            mean = self.slot(weight, "mean_grad")
            means = rho * mean + (1 - rho) * gradient
            spread = squares - means * means
            more = [v1.assign(mean, means)]
        move = settings["momentum"] * moment + step.rate * gradient / tf.sqrt(spread + settings["epsilon"])
        update = v1.assign_sub(weight.variable, move)
        return tf.group(update, v1.assign(square, squares), v1.assign(moment, move), *more)
