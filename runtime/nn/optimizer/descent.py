"""Optimizers without moments of the second order, and Adagrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.optimizer.base import Optimizer
from runtime.nn.weight import Weight
from runtime.optimizers import adagrad, gradient_descent


class SGD(Optimizer):
    """`w -= rate * g`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        parameters: Sequence[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        """See `Optimizer`."""
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _update(self, weight: Weight, gradient: tf.Tensor, rate: tf.Tensor) -> Any:
        return weight.variable.assign_sub(rate * gradient)

    def _of_tables(self, rate: tf.Tensor, lazy: bool) -> Any:
        return gradient_descent.create_hash_optimizer(rate)


class Momentum(Optimizer):
    """`v = momentum * v + g; w -= rate * v`, or with Nesterov `w -= rate * (g + momentum * v)`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        momentum: float = 0.9,
        parameters: Sequence[Any] | None = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        """See `Optimizer`. Every row of an embedding moves at every step, so that tables are refused."""
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._momentum, self._nesterov = momentum, use_nesterov

    def _update(self, weight: Weight, gradient: tf.Tensor, rate: tf.Tensor) -> Any:
        velocity = self._slot(weight, "velocity")
        moved = velocity.assign(self._momentum * velocity.read_value() + gradient)
        step = gradient + self._momentum * moved if self._nesterov else moved
        return weight.variable.assign_sub(rate * step)


class Adagrad(Optimizer):
    """`s += g * g; w -= rate * g / (sqrt(s) + epsilon)`."""

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-6,
        parameters: Sequence[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        """See `Optimizer`."""
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon, self._start = epsilon, initial_accumulator_value

    def _update(self, weight: Weight, gradient: tf.Tensor, rate: tf.Tensor) -> Any:
        total = self._slot(weight, "moment", self._start)
        moved = total.assign_add(gradient * gradient)
        return weight.variable.assign_sub(rate * gradient / (tf.sqrt(moved) + self._epsilon))

    def _of_tables(self, rate: tf.Tensor, lazy: bool) -> Any:
        return adagrad.create_hash_optimizer(rate, self._start, epsilon=self._epsilon)
