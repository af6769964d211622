"""`SGD` and `Momentum`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from runtime.nn.optimizer.base import Optimizer, Step, TableRule
from runtime.nn.optimizer.clip import mapped
from runtime.nn.optimizer.groups import Group
from runtime.nn.optimizer.scheduler import LRScheduler
from runtime.nn.regularizer import L2Decay
from runtime.nn.weights.weight import Weight

v1 = tf.compat.v1


class SGD(Optimizer):
    """`w -= rate * g`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        """Take the settings, those of `Optimizer` and these.

        Args:
            multi_precision: has no effect.
        """
        del multi_precision
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, {})

    def table_rule(self, step: Step) -> TableRule:
        """Return the rule."""
        return TableRule("sgd", [step.rate, 0.0])

    def _on_variable(self, step: Step) -> tf.Operation:
        return tf.group(v1.assign_sub(step.weight.variable, step.rate * step.gradient))


class Momentum(Optimizer):
    """`v = momentum * v + g; w -= rate * v`, with Nesterov's look-ahead `w -= rate * (g + momentum * v)`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Any = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        """Take the settings, those of `Optimizer` and these.

        Args:
            learning_rate: a float or a scheduler of `lr`; a table needs a float.
            momentum: how much of `v` stays.
            use_nesterov: whether the second form holds.
            multi_precision: has no effect.
            rescale_grad: factor of sparse gradients; dense ones stay, as Paddle has it on CPUs.
            use_multi_tensor: has no effect.
        """
        del multi_precision, use_multi_tensor
        if isinstance(weight_decay, float | L2Decay) and isinstance(parameters, list):
            parameters = [_without_decay(one) for one in parameters]
        settings = {"momentum": momentum, "use_nesterov": use_nesterov, "rescale_grad": rescale_grad}
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, settings)

    def _regularized(self, weight: Weight, gradient: Any, decay: Any, settings: Mapping[str, Any]) -> Any:
        # On CPUs, Paddle's kernel of dense gradients does not scale them; an L2Decay leaves them sparse.
        if weight.sparse and (decay is None or isinstance(decay, L2Decay)):
            gradient = mapped(gradient, lambda values: values * settings["rescale_grad"])
        return super()._regularized(weight, gradient, decay, settings)

    def why_no_table(self, weight: Weight, group: Group) -> str:
        """Return why there is no exact form for a table: its rule keeps rate * v, the same for one rate only."""
        changes = isinstance(self._learning_rate, LRScheduler)
        return "all rows go on moving at the rate of the scheduler" if changes else super().why_no_table(weight, group)

    def table_rule(self, step: Step) -> TableRule:
        """Return the rule, which moves rows that are not in the batch, too, as Paddle does."""
        hyper = [step.rate, step.settings["momentum"], float(step.settings["use_nesterov"])]
        group = next(group for group in self._groups if any(one is step.weight for one in group.weights))
        moves = -float(self.get_lr()) * group.factor(step.weight)  # the table keeps movements, not velocities
        return TableRule("keras_momentum", hyper, (0.0,), moves or 1.0)

    def _on_variable(self, step: Step) -> tf.Operation:
        velocity, factor = self.slot(step.weight, "velocity"), step.settings["momentum"]
        moved = factor * velocity + step.gradient
        ahead = step.gradient + factor * moved if step.settings["use_nesterov"] else moved
        update = v1.assign_sub(step.weight.variable, step.rate * ahead)
        return tf.group(update, v1.assign(velocity, moved))


def _without_decay(group: Any) -> Any:
    """Return a group in which `weight_decay=None` says that there is none: other optimizers take their own then."""
    if isinstance(group, Mapping) and group.get("weight_decay", 0.0) is None:
        return {**group, "weight_decay": L2Decay(0.0)}
    return group
