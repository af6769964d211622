"""LazyAdam on tables: Adam whose moments move only for touched rows. Its results differ from Adam's.

`a = learning_rate * sqrt(1 - beta2**t) / (1 - beta1**t)`; `m = beta1 m + (1 - beta1) g`;
`v = beta2 v + (1 - beta2) g**2`; `w -= a m / (sqrt(|v|) + epsilon)`. t counts the steps of the optimizer, not those of
a row.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers._base import TableOptimizer

_POWERS = ("beta1_power", "beta2_power")


def create_hash_optimizer(
    learning_rate: Any = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    name: str = "LazyAdam",
    nonfinite: str = "error",
) -> LazyAdamTableOptimizer:
    """Create the optimizer.

    Raises:
        ValueError: a type or range is wrong: beta1 in [0, 1), beta2 in [0, 1], epsilon in (0, 1].
    """
    betas = checked(beta1, beta2, epsilon)
    return LazyAdamTableOptimizer(learning_rate, *betas, name, nonfinite)


def checked(beta1: Any, beta2: Any, epsilon: Any) -> tuple[float, float, float]:
    """Return the arguments as floats.

    Raises:
        ValueError: a type or range is wrong: beta1 in [0, 1), beta2 in [0, 1], epsilon in (0, 1].
    """
    _open("beta1", _validation.real("beta1", beta1, 0, 1, whole=True), 1)
    _validation.real("beta2", beta2, 0, 1, whole=True)
    _open("epsilon", _validation.real("epsilon", epsilon, 0, 1, whole=True), 0)
    return float(beta1), float(beta2), float(epsilon)


def _open(name: str, value: float, excluded: int) -> None:
    if value == excluded:
        side = "less than or equal to 0" if value == 0 else "bigger than or equal to 1"
        raise ValueError(f"`{name}` is {side}: got {value!r}")


class LazyAdamTableOptimizer(TableOptimizer):
    """See `create_hash_optimizer`.

    Two variables per graph (or for all eager code) hold the powers of the betas, so that checkpoints save them.
    """

    rule = "lazy_adam"
    starts = (0.0, 0.0)

    def __init__(
        self, learning_rate: Any, beta1: float, beta2: float, epsilon: float, name: str, nonfinite: str
    ) -> None:
        """Take the checked arguments of `create_hash_optimizer`."""
        super().__init__(learning_rate, False, name, nonfinite)
        self._betas = (beta1, beta2)
        self._epsilon = epsilon

    def _counters(self) -> dict[str, Any]:
        return {**super()._counters(), **dict(zip(_POWERS, self._betas, strict=True))}

    def _prepare(self) -> None:
        self._beta_powers()

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [rate, *(power.value() for power in self._beta_powers()), *self._betas, self._epsilon]

    def _finish(self, update_ops: list[tf.Operation], name_scope: str) -> tf.Operation:
        powers = self._beta_powers()
        with tf.control_dependencies(update_ops):
            advanced = [
                power.assign(power.read_value() * beta, read_value=False)
                for power, beta in zip(powers, self._betas, strict=True)
            ]
        return tf.group(*update_ops, *advanced, name=name_scope)

    def _beta_powers(self) -> list[tf.Variable]:
        return self._counting(*_POWERS)
