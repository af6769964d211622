"""Gradients of variables that every rank has a copy of, and of rows that one has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.ranks.process_group import current

_OPERATIONS = ("sum", "mean")


@_tf_private.as_written
def reduced_gradients(
    grads_and_vars: Iterable[tuple[Any, Any]], operation: str = "mean", table_operation: str | None = None
) -> list[tuple[Any, Any]]:
    """Return (gradient, variable) pairs with what all ranks give: the same pairs on each rank, for its own optimizer.

    Gradients of variables are summed over ranks in one message. Those of tables are summed by the ranks that own the
    rows, as the lookup has sent them there; "mean" divides both by the number of ranks. Which is right depends on the
    loss: "mean" where each rank takes the mean over its own batch, "sum" where it divides by the size of all batches.

    Args:
        grads_and_vars: as an optimizer's `apply_gradients` takes them; a gradient may be None on every rank.
        operation: "sum" or "mean".
        table_operation: that of tables where it is another.

    Raises:
        ValueError: an unknown operation.
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
    """Whether a variable stands for a table, or has this rank's rows of one (runtime.compat.sok)."""
    inner = getattr(variable, "value", None)  # a variable of Keras 3 has the one of TensorFlow there
    return any(hasattr(one, "table") or hasattr(one, "placement") for one in (variable, inner))


def _sums(gradients: Sequence[Any]) -> list[tf.Tensor]:
    """Return the sums over ranks, those of one type in one message."""
    dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
    result: list[Any] = list(dense)
    for dtype in dict.fromkeys(gradient.dtype for gradient in dense):
        own = [i for i, gradient in enumerate(dense) if gradient.dtype == dtype]
        total = current().all_reduce(tf.concat([tf.reshape(dense[i], [-1]) for i in own], 0))
        parts = tf.split(total, tf.stack([tf.size(dense[i]) for i in own]))
        for i, part in zip(own, parts, strict=True):
            result[i] = tf.reshape(part, tf.shape(dense[i]))
            result[i].set_shape(dense[i].shape)
    return result
