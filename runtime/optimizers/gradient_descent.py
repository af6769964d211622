"""Gradient descent on tables: `w -= learning_rate * g`, touched rows only."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _checks, native
from runtime.optimizers._base import TableOptimizer
from runtime.table import Table


def create_hash_optimizer(
    learning_rate: Any,
    use_locking: bool = False,
    name: str = "GradientDescent",
    use_fusion_optim: bool = False,
    weight_decay: float | None = None,
) -> GradientDescentTableOptimizer:
    """Create the optimizer; `use_fusion_optim` changes nothing, the update is one op anyway.

    Raises:
        ValueError: a wrong type or range, or a weight decay, which is not there yet.
    """
    _checks.boolean("use_fusion_optim", use_fusion_optim)
    if weight_decay is not None:
        _checks.real("weight_decay", weight_decay, 1e-5, 1e-2)
        raise _checks.unsupported("weight_decay", "leave it None and add the decay to the loss")
    return GradientDescentTableOptimizer(learning_rate, use_locking, name)


class GradientDescentTableOptimizer(TableOptimizer):
    """See `create_hash_optimizer`."""

    def _native_update(self, table: Table, keys: tf.Tensor, values: tf.Tensor, rate: tf.Tensor) -> tf.Operation:
        return native.ops().rec_apply_sgd(table.handle, keys, values, rate)
