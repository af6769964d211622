"""`Adam`, `AdamW` and `Adamax`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import tensorflow as tf

from runtime.nn.optimizer.base import Optimizer, Step, TableRule
from runtime.nn.optimizer.groups import Group
from runtime.nn.weights.weight import Weight

v1 = tf.compat.v1


class Adam(Optimizer):
    """`m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g * g; w -= rate * M / (sqrt(V) + epsilon)`.

    M is `m / (1 - beta1**t)` and V is `v / (1 - beta2**t)` in step t, which counts from 1. Paddle 2.6.2's CPU kernel of
    sparse gradients differs from its other kernels: it takes t + 1 for t, and for a row that is not in the batch
    `epsilon / sqrt(1 - beta2**t)` for epsilon. That is not followed here.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        """Take the settings, those of `Optimizer` and these.

        Args:
            beta1: how much of `m` stays.
            beta2: how much of `v` stays.
            epsilon: keeps the divisor above 0.
            lazy_mode: whether rows of an embedding with `sparse=True` stand still if they are not in the batch. All
                other rows move at each step.
            multi_precision: has no effect.
            use_multi_tensor: has no effect.

        Raises:
            ValueError: an argument is something else, or a beta is not in [0, 1).
        """
        del multi_precision, use_multi_tensor
        settings = self._betas(beta1, beta2, epsilon) | {"lazy_mode": lazy_mode}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, settings)

    @staticmethod
    def _betas(beta1: float, beta2: float, epsilon: float) -> dict[str, Any]:
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= beta < 1:
                raise ValueError(f"{name} is {beta!r}: give a number from 0 to below 1")
        if epsilon < 0:
            raise ValueError(f"epsilon is {epsilon!r}: give a number from 0")
        return {"beta1": beta1, "beta2": beta2, "epsilon": epsilon}

    def _check(self, weight: Weight, group: Group) -> None:
        if weight.sparse and group.decay is not None and group.rate is None:
            raise ValueError(
                f"{self._name} has weight_decay={group.decay!r}, which Paddle refuses together with the gradient of "
                f"`{weight.label}`, an embedding with sparse=True: leave out one of both"
            )
        super()._check(weight, group)

    def _power(self, step: Step, name: str) -> tf.Tensor:
        """Return a beta to the power of this step."""
        return self.slot(step.weight, f"{name}_pow", step.settings[name], []).read_value()

    #: The settings whose powers are kept.
    _powers: tuple[str, ...] = ("beta1", "beta2")

    def _advance(self, step: Step) -> list[tf.Operation]:
        names = self._powers
        powers = [self.slot(step.weight, f"{name}_pow", step.settings[name], []) for name in names]
        return [
            tf.group(v1.assign(power, power.read_value() * step.settings[name]))
            for power, name in zip(powers, names, strict=True)
        ]

    def table_rule(self, step: Step) -> TableRule:
        """Return the rule: of lazy rows, or of rows that make up for steps without a gradient."""
        power1, power2 = self._power(step, "beta1"), self._power(step, "beta2")
        beta1, beta2, epsilon = (step.settings[name] for name in ("beta1", "beta2", "epsilon"))
        share = tf.sqrt(1 - power2)
        if step.sparse and step.settings["lazy_mode"]:
            hyper = [step.rate, power1, power2, beta1, beta2, epsilon * share]
            return TableRule("lazy_adam", hyper, (0.0, 0.0))
        size = step.rate * share / (1 - power1)
        if epsilon == 0:
            return TableRule("adam", [size, beta1, beta2, epsilon], (0.0, 0.0))
        return TableRule("adam_scaled", [size, beta1, beta2, epsilon, epsilon * share], (0.0, 0.0))

    def _on_variable(self, step: Step) -> tf.Operation:
        weight, settings, touched = step.weight, step.settings, step.touched
        power1, power2 = self._power(step, "beta1"), self._power(step, "beta2")
        share = tf.sqrt(1 - power2)
        moments = self.slot(weight, "moment1"), self.slot(weight, "moment2")
        parts = step.gradient, step.gradient * step.gradient
        # Of the weight's dtype before 1 - beta: its rounding is that of the powers, and cancels out against it.
        betas = (tf.cast(settings[name], step.gradient.dtype) for name in ("beta1", "beta2"))
        first, second = (
            beta * moment + (1 - beta) * part for beta, moment, part in zip(betas, moments, parts, strict=True)
        )
        move = step.rate * share / (1 - power1) * first / (tf.sqrt(second) + settings["epsilon"] * share)
        new = [self._decayed(step) - move, first, second]
        held = [weight.variable, *moments]
        if touched is not None and settings["lazy_mode"]:
            new = [tf.where(touched, one, old) for one, old in zip(new, held, strict=True)]
        return tf.group(*(v1.assign(old, one) for old, one in zip(held, new, strict=True)))

    def _decayed(self, step: Step) -> tf.Tensor:
        """Return the weight before its moments move it."""
        return step.weight.tensor()


class AdamW(Adam):
    """`Adam` after `w -= rate * weight_decay * w`."""

    decoupled = True

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: float = 0.01,
        lr_ratio: Any = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        """Take the settings: as `Adam`, and these. A table is only trained without decay.

        Args:
            beta1: how much of `m` stays.
            beta2: how much of `v` stays.
            epsilon: keeps the divisor above 0.
            weight_decay: how fast weights shrink, a float.
            lr_ratio: must be None, as Paddle has it on CPUs.
            apply_decay_param_fun: whether the weight of a name shrinks; None: all do.
            lazy_mode: as `Adam`.
            multi_precision: has no effect.
        """
        if lr_ratio is not None:
            raise ValueError("AdamW got lr_ratio, which Paddle does not have on CPUs: give ParamAttr(learning_rate=)")
        if not isinstance(weight_decay, float | int):
            raise ValueError(f"AdamW got weight_decay={weight_decay!r}: give a float")
        self._shrinks = apply_decay_param_fun
        super().__init__(
            learning_rate,
            beta1,
            beta2,
            epsilon,
            parameters,
            weight_decay,
            grad_clip,
            lazy_mode,
            multi_precision,
            name=name,
        )

    def _coefficient(self, weight: Weight, settings: Mapping[str, Any]) -> float:
        shrinks = self._shrinks is None or self._shrinks(weight.name)
        return float(settings["weight_decay"]) if shrinks else 0.0

    def _choices(self, group: Group) -> Hashable:
        return tuple(self._coefficient(weight, group.settings) for weight in group.weights)

    def why_no_table(self, weight: Weight, group: Group) -> str:
        """Return why this optimizer has no exact form for a table; empty where it has one."""
        shrinks = self._coefficient(weight, group.settings) != 0.0
        return "its weight_decay shrinks every row at each step" if shrinks else super().why_no_table(weight, group)

    def _decayed(self, step: Step) -> tf.Tensor:
        coefficient = self._coefficient(step.weight, step.settings)
        return step.weight.tensor() * (1 - step.rate * coefficient)


class Adamax(Adam):
    """`m` as in `Adam`; `n = max(beta2 n + epsilon, |g|); w -= rate / (1 - beta1**t) * m / n`."""

    every_row = "all rows go on moving"

    _powers = ("beta1",)

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        """Take the settings, as `Adam`; a table cannot be trained.

        Raises:
            ValueError: an argument is something else, or a beta is not in [0, 1).
        """
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip, name=name)

    def _on_variable(self, step: Step) -> tf.Operation:
        weight, settings = step.weight, step.settings
        moment, norm = self.slot(weight, "moment"), self.slot(weight, "inf_norm")
        first = settings["beta1"] * moment + (1 - settings["beta1"]) * step.gradient
        largest = tf.maximum(tf.abs(step.gradient), settings["beta2"] * norm + settings["epsilon"])
        move = step.rate / (1 - self._power(step, "beta1")) * first / largest
        update = v1.assign_sub(weight.variable, move)
        return tf.group(update, v1.assign(moment, first), v1.assign(norm, largest))
