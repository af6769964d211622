"""Keras' regularizers of a whole matrix, as terms over all rows of a table."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.lookup import penalties
from runtime.lookup.whole_table import whole_table_l1, whole_table_l2
from runtime.table.table import Table


def factors(regularizer: Any, owner: str) -> tuple[float, float]:
    """Return the factors of the sum of absolute values and of the sum of squares in a regularizer of Keras.

    Raises:
        ValueError: it is neither L1, L2 nor L1L2; `owner` is the layer.
    """
    known = penalties.factors(regularizer)
    if known is None:
        raise ValueError(
            f"{owner} supports L1, L2 and L1L2 of Keras as `embeddings_regularizer`: got {regularizer!r}; give "
            "it as `rows_regularizer`, which acts on the distinct rows of each training batch"
        )
    return known


def penalty(table: Table, rows: int, l1: float, l2: float) -> tf.Tensor:
    """Return the penalty of the rows of the ids 0 to `rows` - 1, a float32 scalar."""
    total = tf.constant(0.0)
    if l2:
        total += 2 * l2 * whole_table_l2(table, size=rows)
    if l1:
        total += l1 * whole_table_l1(table, size=rows)
    return total


@functools.cache
def penalty_class(keras: Any) -> Any:
    """Return the regularizer that Keras 3 asks of a table's weight, which has no rows to give it."""

    class TablePenalty(keras.regularizers.Regularizer):  # type: ignore[misc]
        def __init__(self, of_table: Callable[[], tf.Tensor]) -> None:
            self._of_table = of_table

        def __call__(self, x: Any) -> tf.Tensor:
            return self._of_table()

    return TablePenalty
