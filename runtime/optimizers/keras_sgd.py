"""Momentum on tables, equal to Keras' SGD on a variable with all rows: every row moves at every step.

`a = momentum a - learning_rate g; w += a`, with `nesterov` it is `w += momentum a - learning_rate g`. A row makes up
for its steps without a gradient when it is next read, updated or saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _validation
from runtime.optimizers._base import TableOptimizer, is_schedule


class KerasTableOptimizer(TableOptimizer):
    """A table optimizer whose learning rate schedule is called with `iterations`, which checkpoints save."""

    #: A step counter to use instead of creating one: the iterations of a Keras optimizer.
    counted_elsewhere: Any = None

    def _counters(self) -> dict[str, Any]:
        return {"iterations": np.int64(0)} if self.counted_elsewhere is None else {}

    def _prepare(self) -> None:
        self._steps()

    def _steps(self) -> tf.Tensor:
        """Return the number of steps before this one, int64."""
        if self.counted_elsewhere is not None:
            return tf.convert_to_tensor(self.counted_elsewhere)
        return self._counting("iterations")[0].value()

    def _finish(self, update_ops: list[tf.Operation], name_scope: str) -> tf.Operation:
        with tf.control_dependencies(update_ops):
            advanced = self._counting("iterations")[0].assign_add(1, read_value=False)
        return tf.group(*update_ops, advanced, name=name_scope)

    def _counted_by(self, global_step: Any) -> Any:
        return global_step

    def _rate(self, global_step: Any) -> tf.Tensor:
        if is_schedule(self._learning_rate):
            return self._scalar(self._learning_rate(self._steps()))
        return super()._rate(global_step)


def create_hash_optimizer(
    learning_rate: Any = 0.01,
    momentum: float = 0.0,
    nesterov: bool = False,
    name: str = "KerasSGD",
    nonfinite: str = "error",
) -> KerasSGDTableOptimizer:
    """Create the optimizer: `keras.optimizers.SGD`. Without momentum, `gradient_descent` does the same in less memory.

    Raises:
        ValueError: a type or range is wrong; momentum must be in [0, 1].
    """
    factor = _validation.real("momentum", momentum, 0, 1, whole=True)
    settings = (factor, float(_validation.boolean("nesterov", nesterov)))
    return KerasSGDTableOptimizer(learning_rate, settings, name, nonfinite)


class KerasSGDTableOptimizer(KerasTableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "keras_momentum"
    starts = (0.0,)

    def __init__(self, learning_rate: Any, settings: tuple[float, float], name: str, nonfinite: str) -> None:
        """Take momentum and nesterov, checked, as `settings`."""
        super().__init__(learning_rate, False, name, nonfinite)
        self._settings = settings

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [rate, *self._settings]
