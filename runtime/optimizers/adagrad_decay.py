"""DeepRec's AdagradDecay on tables: Adagrad whose accumulators decay every so many steps.

`s = max(s * rate, initial_accumulator_value)` once for each period of `accumulator_decay_step` steps (a row catches up
one period per update), then `s += g**2; w -= learning_rate * g / sqrt(s)`; touched rows only.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers._base import TableOptimizer, accumulator_start


def create_hash_optimizer(
    learning_rate: Any,
    global_step: Any,
    initial_accumulator_value: float = 0.1,
    accumulator_decay_step: int = 100000,
    accumulator_decay_rate: float = 0.9,
    use_locking: bool = False,
    name: str = "AdagradDecay",
    nonfinite: str = "error",
) -> AdagradDecayTableOptimizer:
    """Create the optimizer; `global_step` is an integer scalar variable or tensor.

    Raises:
        ValueError: a type or range is wrong: accumulator in (0, 1], step at least 1, rate in [0, 1].
    """
    start = accumulator_start(initial_accumulator_value)
    period = _validation.integer("accumulator_decay_step", accumulator_decay_step, 1)
    factor = _validation.real("accumulator_decay_rate", accumulator_decay_rate, 0, 1, whole=True)
    if not isinstance(global_step, (tf.Tensor, tf.Variable)) or not global_step.dtype.is_integer:
        raise ValueError(f"`global_step` must be an integer scalar variable or tensor: got {global_step!r}")
    return AdagradDecayTableOptimizer(
        learning_rate, global_step, start, period, factor, use_locking=use_locking, name=name, nonfinite=nonfinite
    )


class AdagradDecayTableOptimizer(TableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "adagrad_decay"

    def __init__(
        self, learning_rate: Any, global_step: Any, start: float, period: int, factor: float, **settings: Any
    ) -> None:
        """Take the checked arguments of `create_hash_optimizer`."""
        super().__init__(learning_rate, **settings)
        self.starts = (start, 0.0)
        self._global_step, self._period, self._factor = global_step, period, factor

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        # DeepRec counts the current step: the first decay comes with update number `accumulator_decay_step`.
        periods = (tf.cast(tf.convert_to_tensor(self._global_step), tf.int64) + 1) // self._period
        return [rate, periods, self._factor, self.starts[0]]
