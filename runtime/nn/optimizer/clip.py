"""Clipping of gradients, the `grad_clip` of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.weights.weight import Weight

Pairs = list[tuple[Weight, Any]]


class ClipGradBase:
    """Base class: called with pairs of a weight and its gradient, returns the pairs with clipped gradients."""

    def __call__(self, pairs: Sequence[tuple[Weight, Any]]) -> Pairs:
        """Return the pairs; gradients of weights with `need_clip=False` stay, rows of an id are summed first."""
        merged_pairs = [(weight, merged(gradient)) for weight, gradient in pairs if gradient is not None]
        clipped = iter(self._clipped([pair for pair in merged_pairs if pair[0].attr.need_clip]))
        return [(weight, next(clipped) if weight.attr.need_clip else gradient) for weight, gradient in merged_pairs]

    def _clipped(self, pairs: Pairs) -> list[Any]:
        raise NotImplementedError


class ClipGradByValue(ClipGradBase):
    """Every element is put between `min` and `max`; `min` is `-max` if it is not given."""

    def __init__(self, max: float, min: float | None = None) -> None:
        """Take the limits.

        Raises:
            ValueError: there is no `min`, and `max` is not above 0.
        """
        if min is None and not max > 0.0:
            raise ValueError(f"ClipGradByValue got max={max!r}: give a value above 0, or min as well")
        self.max = float(max)
        self.min = -self.max if min is None else float(min)

    def _clipped(self, pairs: Pairs) -> list[Any]:
        for weight, _ in pairs:
            if weight.is_table and not self.min <= 0.0 <= self.max:
                raise ValueError(
                    f"ClipGradByValue({self.max}, {self.min}) changes gradients of 0, but of the table "
                    f"`{weight.label}` only rows of a batch have gradients: create it with Embedding(..., "
                    "table=False)"
                )
        # A row that is not in the batch has a gradient of 0, which such limits keep.
        return [mapped(gradient, lambda values: tf.clip_by_value(values, self.min, self.max)) for _, gradient in pairs]


class ClipGradByNorm(ClipGradBase):
    """Each gradient by itself is scaled to a norm of at most `clip_norm`."""

    def __init__(self, clip_norm: float) -> None:
        """Take the largest norm."""
        self.clip_norm = float(clip_norm)

    def _clipped(self, pairs: Pairs) -> list[Any]:
        def scaled(values: tf.Tensor) -> tf.Tensor:
            return values * _share(self.clip_norm, tf.sqrt(tf.reduce_sum(values * values)))

        return [mapped(gradient, scaled) for _, gradient in pairs]


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients are scaled by the same factor to a common norm of at most `clip_norm`."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        """Take the largest norm; the other arguments change no result."""
        self.clip_norm = float(clip_norm)
        self.group_name, self.auto_skip_clip = group_name, auto_skip_clip

    def _clipped(self, pairs: Pairs) -> list[Any]:
        if not pairs:
            return []
        values = [_values(gradient) for _, gradient in pairs]
        wide = tf.float64 if any(one.dtype == tf.float64 for one in values) else tf.float32
        squares = [tf.cast(tf.reduce_sum(one * one), wide) for one in values]
        share = _share(self.clip_norm, tf.sqrt(tf.add_n(squares)))
        return [mapped(gradient, lambda tensor: tensor * tf.cast(share, tensor.dtype)) for _, gradient in pairs]


def merged(gradient: Any) -> Any:
    """Return a gradient in which each row occurs once: a tensor, or IndexedSlices with distinct indices."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    indices, places = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(indices))
    return tf.IndexedSlices(values, indices, gradient.dense_shape)


def mapped(gradient: Any, function: Callable[[tf.Tensor], tf.Tensor]) -> Any:
    """Return a gradient with a function of its values."""
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
    return function(gradient)


def _values(gradient: Any) -> tf.Tensor:
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


def _share(most: float, norm: tf.Tensor) -> tf.Tensor:
    limit = tf.constant(most, norm.dtype)
    return limit / tf.maximum(norm, limit)
