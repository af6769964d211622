"""Reduces gradients over ranks: of variables that every rank has a copy of, and of rows that one rank holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.ranks.engine import DENSE
from runtime.ranks.process_group import current

_OPERATIONS = ("sum", "mean")


@_tf_private.as_written
def reduced_gradients(
    grads_and_vars: Iterable[tuple[Any, Any]], operation: str = "mean", table_operation: str | None = None
) -> list[tuple[Any, Any]]:
    """Return (gradient, variable) pairs reduced over ranks: the same pairs on each rank, for its own optimizer.

    Gradients of variables are summed over ranks in one message, beside those of rows. Gradients of tables are already
    sent to, and summed by, the ranks that hold the rows; "mean" divides both by the number of ranks. Use "mean" if each
    rank's loss is the mean over its own batch, "sum" if it divides by the size of all batches.

    Args:
        grads_and_vars: as for an optimizer's `apply_gradients`; a gradient may be None if it is None on every rank.
        operation: "sum" or "mean".
        table_operation: the operation for tables, if it differs.

    Raises:
        ValueError: the operation is unknown.
    """
    for name, value in (("operation", operation), ("table_operation", table_operation or operation)):
        _validation.option(name, value, _OPERATIONS)
    engine = current()
    pairs = list(grads_and_vars)
    if engine.size == 1:
        return pairs
    share = {"sum": 1.0, "mean": 1.0 / engine.size}
    dense = [i for i, (gradient, variable) in enumerate(pairs) if gradient is not None and not of_table(variable)]
    result: list[Any] = [gradient for gradient, _ in pairs]
    for i, total in zip(dense, _sums([result[i] for i in dense]), strict=True):
        result[i] = total * tf.cast(share[operation], total.dtype)
    for i, (gradient, variable) in enumerate(pairs):
        if gradient is not None and of_table(variable):
            values = gradient.values * share[table_operation or operation]
            result[i] = tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return list(zip(result, (variable for _, variable in pairs), strict=True))


def of_table(variable: Any) -> bool:
    """Whether a variable is the anchor of a table, or holds this rank's rows of one (runtime.compat.sok)."""
    inner = getattr(variable, "value", None)  # a Keras 3 variable keeps TensorFlow's variable there
    return any(hasattr(one, "table") or hasattr(one, "placement") for one in (variable, inner))


def _sums(gradients: Sequence[Any]) -> list[tf.Tensor]:
    """Return the sums over ranks; tensors of one type share a message."""
    engine = current()
    dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
    result: list[Any] = list(dense)
    for dtype in dict.fromkeys(gradient.dtype for gradient in dense):
        own = [i for i, gradient in enumerate(dense) if gradient.dtype == dtype]
        flat = tf.concat([tf.reshape(dense[i], [-1]) for i in own], 0)
        with engine.beside(DENSE):
            total = engine.all_reduce(flat)
        parts = tf.split(total, tf.stack([tf.size(dense[i]) for i in own]))
        for i, part in zip(own, parts, strict=True):
            result[i] = tf.reshape(part, tf.shape(dense[i]))
            result[i].set_shape(dense[i].shape)
    return result
