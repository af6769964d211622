"""Clipping of gradients, as optimizers do before they use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

Pair = tuple[Any, Any]  #: a weight and its gradient, a tensor or IndexedSlices with one row for each id


def values_of(gradient: Any) -> tf.Tensor:
    """Return the numbers of a gradient; of a table, those of the rows that it has."""
    return gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient


def with_values(gradient: Any, values: tf.Tensor) -> Any:
    """Return a gradient like another, with other numbers."""
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return values


class ClipGradByValue:
    """Numbers beyond the bounds become the bounds."""

    def __init__(self, max: float, min: float | None = None) -> None:
        """Take the bounds; `min` is `-max` if it is not given."""
        self.max, self.min = float(max), -float(max) if min is None else float(min)

    def __call__(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs with clipped gradients."""
        return [
            (weight, with_values(g, tf.clip_by_value(values_of(g), self.min, self.max)) if _clips(weight) else g)
            for weight, g in pairs
        ]


class ClipGradByNorm:
    """A gradient whose norm is larger than the bound is scaled to it."""

    def __init__(self, clip_norm: float) -> None:
        """Take the bound."""
        self.clip_norm = float(clip_norm)

    def __call__(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs with clipped gradients."""

        def clipped(gradient: Any) -> Any:
            values = values_of(gradient)
            norm = tf.sqrt(tf.reduce_sum(tf.square(values)))
            return with_values(gradient, tf.where(norm > self.clip_norm, values * (self.clip_norm / norm), values))

        return [(weight, clipped(gradient) if _clips(weight) else gradient) for weight, gradient in pairs]


class ClipGradByGlobalNorm:
    """If the norm of all gradients together is larger than the bound, all are scaled by the same factor."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        """Take the bound; the other arguments have no effect."""
        del group_name, auto_skip_clip
        self.clip_norm = float(clip_norm)

    def __call__(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs with clipped gradients."""
        squares = [tf.reduce_sum(tf.square(values_of(g))) for weight, g in pairs if _clips(weight)]
        if not squares:
            return list(pairs)
        norm = tf.sqrt(tf.add_n(squares))
        factor = self.clip_norm / tf.maximum(norm, self.clip_norm)
        return [(weight, with_values(g, values_of(g) * factor) if _clips(weight) else g) for weight, g in pairs]


def _clips(weight: Any) -> bool:
    return bool(weight.attr.need_clip)


__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]
