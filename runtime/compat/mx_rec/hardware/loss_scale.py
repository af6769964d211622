"""Loss scaling of the hardware's adapter, as `tf.contrib.mixed_precision` does it: the steps that it skips, the scale.

Rows and weights are float32 here, so that a scale that is a power of two leaves gradients as they are.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.compat.mx_rec.ranks import hccl
from runtime.optimizers._base import TableOptimizer

v1: Any = tf.compat.v1


class FixedLossScaleManager:
    """A scale that stays."""

    def __init__(self, loss_scale: float, enable_overflow_check: bool = True) -> None:
        """Take the scale; without `enable_overflow_check` steps with infinite gradients are made, too.

        Raises:
            ValueError: the scale is below 1.
        """
        self._scale = tf.constant(_validation.real("loss_scale", loss_scale, 1, 3e38, whole=True), tf.float32)
        self._enable_overflow_check = _validation.boolean("enable_overflow_check", enable_overflow_check)

    def get_loss_scale(self) -> tf.Tensor:
        """Return the scale, a float32 scalar."""
        return self._scale

    def get_enable_overflow_check(self) -> bool:
        """Return whether steps with infinite gradients are skipped."""
        return self._enable_overflow_check

    def update_loss_scale(self, finite_grads: Any) -> tf.Operation:
        """Return an op that does nothing."""
        del finite_grads
        return tf.no_op()


class ExponentialUpdateLossScaleManager:
    """A scale that rises after so many finite steps on end, and falls after so many others."""

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        """Create the variables `loss_scale`, `num_good_steps` and `num_bad_steps`.

        Raises:
            ValueError: the scale or a period is below 1, or a ratio on the wrong side of 1.
        """
        start = _validation.real("init_loss_scale", init_loss_scale, 1, 3e38, whole=True)
        self._rises_after = _validation.integer("incr_every_n_steps", incr_every_n_steps, 1)
        self._falls_after = _validation.integer("decr_every_n_nan_or_inf", decr_every_n_nan_or_inf, 1)
        self._up = _validation.real("incr_ratio", incr_ratio, 1, 3e38, whole=True)
        self._down = _validation.real("decr_ratio", decr_ratio, 1e-38, 1, whole=True)

        def variable(name: str, value: Any) -> Any:
            return v1.Variable(value, trainable=False, use_resource=True, name=name)

        self._scale = variable("loss_scale", tf.constant(start, tf.float32))
        self._good, self._bad = (variable(name, tf.constant(0)) for name in ("num_good_steps", "num_bad_steps"))

    def get_loss_scale(self) -> tf.Tensor:
        """Return the scale, a float32 scalar."""
        return self._scale.value()

    def get_enable_overflow_check(self) -> bool:
        """Return whether steps with infinite gradients are skipped."""
        return True

    def update_loss_scale(self, finite_grads: Any) -> tf.Operation:
        """Return the op that counts a step whose gradients are finite or not; either number begins again at a change.

        A scale below 1 or beyond float32 is not taken.
        """
        finite = tf.convert_to_tensor(finite_grads)
        scale, good, bad = self._scale.read_value(), self._good.read_value(), self._bad.read_value()
        good, bad = tf.where(finite, good + 1, 0), tf.where(finite, bad, bad + 1)
        higher, lower = scale * self._up, scale * self._down
        rises, falls = good >= self._rises_after, bad >= self._falls_after
        scale = tf.where(rises & tf.math.is_finite(higher), higher, scale)
        scale = tf.where(falls & (lower >= 1), lower, scale)
        changes = rises | falls
        new = scale, tf.where(changes, 0, good), tf.where(changes, 0, bad)
        return tf.group(
            *(one.assign(value) for one, value in zip((self._scale, self._good, self._bad), new, strict=True))
        )


class NPULossScaleOptimizer(v1.train.Optimizer):  # type: ignore[misc]
    """Scales the loss of an optimizer and its gradients back, and skips steps whose gradients are not finite."""

    def __init__(self, opt: Any, loss_scale_manager: Any, is_distributed: bool = False) -> None:
        """Take the optimizer; with `is_distributed` all ranks skip a step that is not finite on one of them.

        Raises:
            ValueError: it is not an optimizer of TensorFlow 1, or one of tables, which are never updated by
                gradients that are not finite.
        """
        _validation.kind("opt", opt, v1.train.Optimizer, "an optimizer of tf.compat.v1.train")
        if isinstance(opt, TableOptimizer):
            raise ValueError(
                f"NPULossScaleOptimizer got {opt.get_name()}, which updates tables: apply the gradients of "
                "tables with that optimizer directly, without a loss scale, which only dense variables need"
            )
        self._opt, self._manager = opt, loss_scale_manager
        self._is_distributed = _validation.boolean("is_distributed", is_distributed)
        super().__init__(use_locking=False, name="NPULossScaleOptimizer")

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return the pairs of the inner optimizer, with the gradients of the loss as it was."""
        scale = self._manager.get_loss_scale()
        scaled = (lambda: loss() * scale) if callable(loss) else loss * tf.cast(scale, loss.dtype)
        pairs = self._opt.compute_gradients(scaled, *args, **kwargs)
        return [(_divided(gradient, scale), variable) for gradient, variable in pairs]

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> tf.Operation:
        """Return the op that makes the step and counts it in `global_step`, if all gradients are finite."""
        pairs = list(grads_and_vars)
        finite = tf.reduce_all([_is_finite(gradient) for gradient, _ in pairs if gradient is not None])
        if self._is_distributed:
            finite = tf.equal(hccl.allreduce(tf.cast(finite, tf.float32), "min"), 1.0)
        checks = self._manager.get_enable_overflow_check()
        with tf.control_dependencies([gradient for gradient, _ in pairs if gradient is not None]):
            step = (
                v1.cond(finite, lambda: self._opt.apply_gradients(pairs, global_step), tf.no_op)
                if checks
                else self._opt.apply_gradients(pairs, global_step)
            )
        with tf.control_dependencies([step]):
            updated = self._manager.update_loss_scale(finite)
        return tf.group(step, updated, name=name)

    def get_slot(self, var: Any, name: str) -> Any:
        """Return a slot of the inner optimizer."""
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots of the inner optimizer."""
        return list(self._opt.get_slot_names())

    def variables(self) -> list[Any]:
        """Return the variables of the inner optimizer."""
        return list(self._opt.variables())


def _divided(gradient: Any, scale: tf.Tensor) -> Any:
    if isinstance(gradient, tf.IndexedSlices):
        values = gradient.values / tf.cast(scale, gradient.values.dtype)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return None if gradient is None else gradient / tf.cast(scale, gradient.dtype)


def _is_finite(gradient: Any) -> tf.Tensor:
    values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
    return tf.reduce_all(tf.math.is_finite(values))
