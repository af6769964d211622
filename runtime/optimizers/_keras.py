"""Base class of the forms of Keras optimizers: they count their own steps as `iterations`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

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
