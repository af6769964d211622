"""Variables that every rank has a copy of: makes the copies equal at the start."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.ranks.gradients import of_table
from runtime.ranks.process_group import current


@_tf_private.as_written
def broadcast(variables: Iterable[Any]) -> tf.Operation | None:
    """Copy rank 0's values of variables to all ranks, so that the copies start equal; tables are left out.

    Call it once, before the first step, and again after optimizers have created slots with random values. In a v1 graph
    it returns an op to run after the init op; `BroadcastHook` runs it. String variables are not copied.
    """
    engine = current()
    assigned = []
    for variable in variables if engine.size > 1 else ():
        carried = _carried(variable.dtype.base_dtype)
        if not of_table(variable) and carried is not None:
            value = variable.read_value()  # a v1 variable would convert to its value before the init op
            number = tf.cast(value, carried)
            total = engine.all_reduce(number if engine.rank == 0 else tf.zeros_like(number))
            assigned.append(variable.assign(tf.cast(total, value.dtype)))
    return None if tf.executing_eagerly() else tf.group(assigned)


def _carried(dtype: tf.DType) -> tf.DType | None:
    """Return a type that all engines can sum and that holds all values of `dtype`; None for strings."""
    if dtype in (tf.int32, tf.int64, tf.float32, tf.float64):
        return dtype
    if dtype.is_floating:
        return tf.float32
    return tf.int64 if dtype.is_integer or dtype.is_bool else None


class BroadcastHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Copies rank 0's values of the graph's variables to all ranks when a session begins; needed on every rank."""

    def __init__(self, variables: Iterable[Any] | None = None) -> None:
        """Take these variables, or all global variables that exist when the session is created."""
        self._variables = None if variables is None else list(variables)
        self._broadcast: tf.Operation | None = None

    def begin(self) -> None:
        """Add the op to the graph."""
        variables = tf.compat.v1.global_variables() if self._variables is None else self._variables
        self._broadcast = broadcast(variables)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run the op."""
        session.run(self._broadcast)
