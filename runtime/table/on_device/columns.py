"""The variables on a device: column 0 holds values, the others hold the slots of an optimizer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from runtime import native


@dataclass(frozen=True)
class Column:
    """A variable [rows on the device, dim] with one column of rows, and how the host copies that column."""

    number: int
    variable: Any
    #: The rule and the initial values of its slots; for values, any.
    rule: dict[str, Any] = field(default_factory=dict)

    def from_host(self, handle: tf.Tensor, anchor: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
        """Return this column of the table's rows of keys [n], [n, dim]; for values, rows are inserted."""
        with tf.device("/device:CPU:0"):
            if self.number == 0:
                return native.ops().rec_lookup_or_insert(handle, anchor, keys, [])
            return native.ops().rec_read_slot(handle, anchor, keys, column=self.number, **self.rule)

    def to_host(self, handle: tf.Tensor, keys: tf.Tensor, places: tf.Tensor) -> tf.Operation:
        """Return the op that writes this column of the rows at `places` [n] to the table's rows of keys [n]."""
        values = gathered(self.variable, places)
        with tf.device("/device:CPU:0"):
            return native.ops().rec_write_column(handle, keys, values, column=self.number, **self.rule)


def new_variable(name: str, shape: tuple[int, int], start: float, device: str) -> Any:
    """Create a variable of the current graph on a device, in no collection, so that no Saver saves it."""
    with tf.device(device):
        return tf.compat.v1.Variable(
            lambda: tf.fill(shape, tf.constant(start, tf.float32)),
            trainable=False,
            collections=[],
            use_resource=True,
            name=name,
            dtype=tf.float32,
        )


def begun_once(variable: Any) -> tf.Operation:
    """Return the op that initializes a variable, unless it is: an init op that runs again may keep the table's rows."""

    def begin() -> tf.Tensor:
        with tf.device(variable.device):
            assigned = tf.raw_ops.AssignVariableOp(
                resource=variable.handle, value=tf.fill(variable.shape, tf.zeros([], tf.float32))
            )
        with tf.control_dependencies([assigned]):
            return tf.constant(True)

    with tf.device(variable.device):
        there = tf.raw_ops.VarIsInitializedOp(resource=variable.handle)
    return tf.cond(there, lambda: tf.constant(False), begin).op


def gathered(variable: Any, places: tf.Tensor) -> tf.Tensor:
    """Return the rows at `places`, [*places.shape, dim], on the variable's device."""
    with tf.device(variable.device):
        return tf.raw_ops.ResourceGather(resource=variable.handle, indices=places, dtype=tf.float32)


def scattered(variable: Any, places: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
    """Return the op that sets the rows at `places` [n] to `rows` [n, dim], on the variable's device."""
    with tf.device(variable.device):
        return tf.raw_ops.ResourceScatterUpdate(resource=variable.handle, indices=places, updates=rows)
