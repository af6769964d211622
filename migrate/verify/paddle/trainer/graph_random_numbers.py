"""Random numbers and masks of a converted trainer, drawn by NumPy in its graph as in the original."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from migrate.verify.paddle.trainer import common
from migrate.verify.paddle.trainer.common import mask
from runtime.nn import functional, masks


class _Drawer(functional.Drawer):
    """Draws the numbers that the original draws, by the number of the call."""

    def __init__(self) -> None:
        self.number = -1

    def _given(self, function: Any, dtype: tf.DType, *inputs: Any) -> tf.Tensor:
        self.number += 1
        number = self.number
        return tf.numpy_function(lambda *values: function(number, *values).astype(dtype.as_numpy_dtype), inputs, dtype)

    def uniform(self, shape: Any, dtype: tf.DType, low: Any, high: Any) -> tf.Tensor:
        return low + (high - low) * self._given(common.uniform, dtype, shape)

    def normal(self, shape: Any, dtype: tf.DType) -> tf.Tensor:
        return self._given(common.normal, dtype, shape)

    def integers(self, shape: Any, dtype: tf.DType, low: Any, high: Any) -> tf.Tensor:
        return self._given(common.integers, dtype, shape, low, high)

    def permutation(self, count: Any, dtype: tf.DType) -> tf.Tensor:
        return self._given(lambda number, most: common.permutation(number, int(most)), dtype, count)

    def choices(self, weights: tf.Tensor, count: int, replacement: bool) -> tf.Tensor:
        return self._given(common.choices, tf.int64, weights, count, replacement)


@contextlib.contextmanager
def drawn() -> Iterator[None]:
    """Let `runtime.nn` draw the numbers, and the masks of dropout, that the original draws, while the block is run.

    They go by the order of calls, as in the original.
    """
    numbers = itertools.count()

    def masked(shape: tf.Tensor, p: float) -> tf.Tensor:
        number = next(numbers)
        return tf.numpy_function(lambda sizes: mask(number, tuple(sizes), p), [shape], tf.bool)

    functional.draw_with(_Drawer())
    try:
        with masks.drawn_by(masked):
            yield
    finally:
        functional.draw_with(functional.Drawer())
