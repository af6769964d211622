"""Variables that every rank has a copy of: how the copies begin alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.ranks.gradients import of_table
from runtime.ranks.process_group import current


@_tf_private.as_written
def broadcast(variables: Iterable[Any]) -> tf.Operation | None:
    """Give all ranks the values that rank 0 has, so that their copies begin alike; tables are left out.

    Call it once, before the first step, and again after optimizers have made their slots where these begin at random.
    In a v1 graph the result is an op that does it, for after the init op; `BroadcastHook` runs it. Variables of strings
    stay each rank's own.
    """
    engine = current()
    assigned = []
    for variable in variables if engine.size > 1 else ():
        carried = _carried(variable.dtype.base_dtype)
        if not of_table(variable) and carried is not None:
            value = variable.read_value()  # a variable of TensorFlow 1 converts to what it was before an init op here
            number = tf.cast(value, carried)
            total = engine.all_reduce(number if engine.rank == 0 else tf.zeros_like(number))
            assigned.append(variable.assign(tf.cast(total, value.dtype)))
    return None if tf.executing_eagerly() else tf.group(assigned)


def _carried(dtype: tf.DType) -> tf.DType | None:
    """Return the type that all engines add and that holds all values of another; None for strings."""
    if dtype in (tf.int32, tf.int64, tf.float32, tf.float64):
        return dtype
    if dtype.is_floating:
        return tf.float32
    return tf.int64 if dtype.is_integer or dtype.is_bool else None


class BroadcastHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Gives all ranks rank 0's values of the graph's variables when a session begins; every rank has to have it."""

    def __init__(self, variables: Iterable[Any] | None = None) -> None:
        """Take these variables, or all global ones that the graph has when the session is made."""
        self._variables = None if variables is None else list(variables)
        self._broadcast: tf.Operation | None = None

    def begin(self) -> None:
        """Add the op to the graph."""
        variables = tf.compat.v1.global_variables() if self._variables is None else self._variables
        self._broadcast = broadcast(variables)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run it."""
        session.run(self._broadcast)
