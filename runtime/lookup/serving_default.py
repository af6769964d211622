"""`serving_default_value` of a lookup: what ids without a row read."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import ranks
from runtime.table.table import Table


class Default:
    """The default value of one lookup.

    The rank that asks knows the default for each id, but not whether the id has a row; the rank or server that looks it
    up knows that. So the latter appends a marker to each row that exists, and the former fills in the default.
    """

    def __init__(self, table: Table, ids: tf.Tensor, value: Any) -> None:
        """Take a value that broadcasts to [number of ids, dim].

        Raises:
            ValueError: it does not.
        """
        self._dim = table.dim
        self._value = _checked(table, ids, value)
        # Decided by the rank of the value alone: numbers of ids differ between ranks, and one may have a single id.
        self._marks = (ranks.size() > 1 or bool(table.parts)) and self._value.shape.rank == 2
        #: Width of the rows that the lookup returns, before `arrived`.
        self.width = self._dim + int(self._marks)

    def where_missing(self, present: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Return rows [*ids.shape, dim], with the default (or a marker for it) for those not `present`."""
        return self._marked(present, rows) if self._marks else self._chosen(present, rows)

    def nowhere(self, rows: tf.Tensor) -> tf.Tensor:
        """Return rows that all exist."""
        return self._marked(tf.ones(tf.shape(rows)[:-1], tf.bool), rows) if self._marks else rows

    def arrived(self, rows: tf.Tensor) -> tf.Tensor:
        """Return the rows of the requested ids, given the lookup's result."""
        return self._chosen(rows[..., self._dim] > 0.5, rows[..., : self._dim]) if self._marks else rows

    def _marked(self, present: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        mark = tf.cast(tf.reshape(present, tf.shape(rows)[:-1]), rows.dtype)
        return tf.concat([rows, mark[..., tf.newaxis]], -1)

    def _chosen(self, present: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        chosen = tf.where(tf.reshape(present, [-1, 1]), tf.reshape(rows, [-1, self._dim]), self._value)
        return tf.reshape(chosen, tf.shape(rows))


def _checked(table: Table, ids: tf.Tensor, default: Any) -> tf.Tensor:
    wanted = tf.TensorShape([ids.shape.num_elements(), table.dim])
    try:
        value = tf.convert_to_tensor(default, tf.float32)
        if tf.broadcast_static_shape(value.shape, wanted).is_compatible_with(wanted):
            return value
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"`serving_default_value` {default!r} of the table `{table.table_name}` must be float32 and broadcast to "
        f"[{wanted[0] or 'number of ids'}, {table.dim}]"
    )
