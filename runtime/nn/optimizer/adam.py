"""Adam and AdamW: the epsilon of both is outside of the correction of the second moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.optimizer.base import Optimizer
from runtime.nn.weight import Weight
from runtime.optimizers import adam
from runtime.optimizers.lazy_adam import LazyAdamTableOptimizer

v1 = tf.compat.v1


class Adam(Optimizer):
    """`m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; w -= rate * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)`.

    Every row of an embedding moves at every step, also those of a table, which make up for it when they are next read;
    with `lazy_mode` and `Embedding(sparse=True)` only the rows of the batch move.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Sequence[Any] | None = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        name: str | None = None,
    ) -> None:
        """See `Optimizer`."""
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1, self._beta2, self._epsilon, self._lazy_mode = float(beta1), float(beta2), float(epsilon), lazy_mode
        self._powers: list[tf.Variable] = []

    def _begin(self) -> None:
        if not self._powers:
            with tf.init_scope():
                self._powers = [
                    v1.Variable(beta, trainable=False, name=f"{type(self).__name__}/beta{i}_power")
                    for i, beta in ((1, self._beta1), (2, self._beta2))
                ]
        self._correction1, self._correction2 = (1 - power.read_value() for power in self._powers)

    def _end(self) -> list[Any]:
        return [
            power.assign(power.read_value() * beta)
            for power, beta in zip(self._powers, (self._beta1, self._beta2), strict=True)
        ]

    def _lazy(self, weight: Any) -> bool:
        return self._lazy_mode and weight.sparse

    def _update(self, weight: Weight, gradient: tf.Tensor, rate: tf.Tensor) -> Any:
        first, second = self._slot(weight, "moment1"), self._slot(weight, "moment2")
        m = first.assign(self._beta1 * first.read_value() + (1 - self._beta1) * gradient)
        v = second.assign(self._beta2 * second.read_value() + (1 - self._beta2) * gradient * gradient)
        root = tf.sqrt(self._correction2)
        return weight.variable.assign_sub(rate * root / self._correction1 * m / (tf.sqrt(v) + self._epsilon * root))

    def _of_tables(self, rate: tf.Tensor, lazy: bool) -> Any:
        if lazy:
            return _ScaledLazyAdam(rate, self._beta1, self._beta2, self._epsilon, "LazyAdam", "error")
        return adam.create_hash_optimizer(rate, self._beta1, self._beta2, self._epsilon, scaled_epsilon=True)


class AdamW(Adam):
    """Adam after `w *= 1 - rate * weight_decay`. Every row moves by the decay alone, so that tables are refused."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Sequence[Any] | None = None,
        weight_decay: float = 0.01,
        lr_ratio: Any = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        """See `Optimizer`.

        Raises:
            ValueError: `lr_ratio` or `apply_decay_param_fun` is given, which ask for Paddle's names of parameters.
        """
        if lr_ratio is not None or apply_decay_param_fun is not None:
            raise ValueError("AdamW got lr_ratio or apply_decay_param_fun: give groups of parameters instead")
        super().__init__(learning_rate, beta1, beta2, epsilon, parameters, None, grad_clip, lazy_mode, name)
        self._coefficient = float(weight_decay)

    def _update(self, weight: Weight, gradient: tf.Tensor, rate: tf.Tensor) -> Any:
        decayed = weight.variable.assign(weight.variable.read_value() * (1 - rate * self._coefficient))
        with tf.control_dependencies([decayed]):
            return super()._update(weight, gradient, rate)

    def _of_tables(self, rate: tf.Tensor, lazy: bool) -> Any:
        return Optimizer._of_tables(self, rate, lazy)


class _ScaledLazyAdam(LazyAdamTableOptimizer):
    """LazyAdam with the epsilon outside of the correction."""

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        *others, epsilon = super()._hyper(rate)
        _, power2 = (power.value() for power in self._beta_powers())
        return [*others, epsilon * tf.sqrt(1 - power2)]
