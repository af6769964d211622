"""Gradient accumulation of Keras 3 for tables: the gradients of rows wait for the step that updates.

Keras adds the gradients of a variable up for `gradient_accumulation_steps` batches, and then updates it once by their
mean. It does so in a variable of the same shape, which a table does not have: here the rows of the batches wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime.table.eager_anchor import EagerAnchor


class RowGradients(tf.Module):  # type: ignore[misc]
    """The sums of a table's gradients since its last update: `keys` int64 [n] and `values` float32 [n, dim]."""

    def __init__(self, anchor: EagerAnchor) -> None:
        super().__init__()
        with tf.init_scope(), tf.device("/device:CPU:0"):
            self.keys = tf.Variable(tf.zeros([0], tf.int64), shape=[None], trainable=False)
            self.values = tf.Variable(tf.zeros([0, anchor.table.dim]), shape=[None, anchor.table.dim], trainable=False)

    def _with(self, gradient: tf.IndexedSlices) -> tf.IndexedSlices:
        keys = tf.concat([self.keys, tf.cast(gradient.indices, tf.int64)], 0)
        values = tf.concat([self.values, tf.cast(gradient.values, tf.float32)], 0)
        return summed(tf.IndexedSlices(values, keys, gradient.dense_shape))

    def add(self, gradient: tf.IndexedSlices) -> None:
        """Add the gradient of a batch."""
        self.set(*_parts(self._with(gradient)))

    def mean(self, gradient: tf.IndexedSlices, steps: int) -> tf.IndexedSlices:
        """Return the mean over `steps` batches, of which the last has this gradient; each key once."""
        total = self._with(gradient)
        return tf.IndexedSlices(total.values / steps, total.indices, total.dense_shape)

    def set(self, keys: Any, values: Any) -> None:
        """Replace what waits."""
        self.keys.assign(keys)
        self.values.assign(values)

    def clear(self) -> None:
        """Let nothing wait."""
        self.set(self.keys[:0], self.values[:0])


def _parts(gradient: tf.IndexedSlices) -> tuple[tf.Tensor, tf.Tensor]:
    return gradient.indices, gradient.values


def summed(gradient: Any) -> Any:
    """Return sparse gradients with each index once, and its values added up; others as they are."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    ids, numbers = tf.unique(gradient.indices)
    return tf.IndexedSlices(
        tf.math.unsorted_segment_sum(gradient.values, numbers, tf.size(ids)), ids, gradient.dense_shape
    )


class _Scaled(tf.IndexedSlices):  # type: ignore[misc]
    """Sparse gradients that Keras divides by the factor of the loss as it does dense ones."""

    def __truediv__(self, factor: Any) -> tf.IndexedSlices:
        return tf.IndexedSlices(self.values / factor, self.indices, self.dense_shape)


def divisible(stock_filter: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt `_filter_empty_gradients`, after which Keras 3 takes the factor of the loss out of the gradients."""

    def filter_empty_gradients(self: Any, grads: Any, variables: Any) -> Any:
        grads, variables = stock_filter(self, grads, variables)
        if self.loss_scale_factor is not None:
            sparse = tf.IndexedSlices
            grads = [
                _Scaled(one.values, one.indices, one.dense_shape) if isinstance(one, sparse) else one for one in grads
            ]
        return grads, variables

    return filter_empty_gradients


def prepared(optimizer: Any, anchors: Sequence[EagerAnchor]) -> None:
    """Let an optimizer of Keras 3 that was built have gradients of tables wait, from now on none."""
    if anchors and getattr(optimizer, "gradient_accumulation_steps", None):
        for anchor in anchors:
            anchor.waiting = RowGradients(anchor)
        optimizer._rows_waiting = [anchor.waiting for anchor in anchors]  # so that TensorFlow's checkpoints have them


def accumulating(variable_of: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what adapts `_backend_apply_gradients`; `variable_of` returns TensorFlow's variable of one of Keras."""

    def adapted(stock_apply: Callable[..., Any]) -> Callable[..., Any]:
        def backend_apply_gradients(self: Any, grads: Any, trainable_variables: Any) -> Any:
            anchors = [variable_of(one) for one in trainable_variables]
            if not self.gradient_accumulation_steps or not any(isinstance(one, EagerAnchor) for one in anchors):
                return stock_apply(self, grads, trainable_variables)
            return _Step(self, list(grads), list(trainable_variables), anchors).run()

        return backend_apply_gradients

    return adapted


class _Step:
    """One call of `apply` on variables and tables: Keras' own for variables, the same for tables."""

    def __init__(self, optimizer: Any, gradients: list[Any], variables: list[Any], anchors: list[Any]) -> None:
        self.optimizer, self.gradients, self.variables = optimizer, gradients, variables
        self.steps = optimizer.gradient_accumulation_steps
        self.waiting = [one.waiting if isinstance(one, EagerAnchor) else None for one in anchors]
        for anchor, gradient in zip(anchors, gradients, strict=True):
            if isinstance(anchor, EagerAnchor) and not isinstance(gradient, tf.IndexedSlices):
                raise TypeError(
                    f"the gradient of the table `{anchor.table.table_name}` is a dense tensor, which "
                    "gradient_accumulation_steps cannot add up: keep it tf.IndexedSlices, and change its "
                    "`.values` alone"
                )

    def run(self) -> None:
        last = tf.equal((tf.convert_to_tensor(self.optimizer._iterations) + 1) % self.steps, 0)
        tf.cond(last, self._update, self._wait)

    def _sums(self) -> list[Any]:
        """Return Keras' variables with the sums of gradients, of all variables but tables."""
        optimizer = self.optimizer
        return [
            optimizer._accumulated_gradients[optimizer._get_variable_index(variable)]
            for variable, waiting in zip(self.variables, self.waiting, strict=True)
            if waiting is None
        ]

    def _update(self) -> None:
        optimizer, sums = self.optimizer, iter(self._sums())
        means = [
            (gradient + next(sums)) / self.steps if waiting is None else waiting.mean(gradient, self.steps)
            for gradient, waiting in zip(self.gradients, self.waiting, strict=True)
        ]
        means = optimizer._clip_gradients(means)
        optimizer._apply_weight_decay(self.variables)
        optimizer._backend_update_step(means, self.variables, optimizer.learning_rate)
        optimizer._backend_reset_gradient_accumulators()
        for waiting in filter(None, self.waiting):
            waiting.clear()

    def _wait(self) -> None:
        pairs = list(zip(self.gradients, self.waiting, strict=True))
        for gradient, waiting in pairs:
            if waiting is not None:
                waiting.add(gradient)
        sums = self._sums()
        if sums:
            dense = [gradient for gradient, waiting in pairs if waiting is None]
            self.optimizer._backend_increment_gradient_accumulators(dense, sums)
