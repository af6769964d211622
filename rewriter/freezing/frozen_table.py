"""A table of stock ops: a static hash table from keys to places, and a variable with the rows and one more.

The last row is what keys read that the hash table does not know; where that depends on the key, it is computed.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rewriter.freezing.initial_rows import constant_row, drawn_rows
from rewriter.freezing.sources import TableSource
from runtime.native.base_keys import FIRST_BASE_KEY

v1 = tf.compat.v1
#: Hash tables have kernels for CPUs alone.
DEVICE = "/device:CPU:0"


class Numbers(enum.Enum):
    """How rows are stored."""

    FLOAT32 = "float32"
    BF16 = "bf16"
    INT8 = "int8"  #: with a float32 scale for each row

    @property
    def dtype(self) -> tf.DType:
        """The type of the variable with the rows."""
        return {Numbers.FLOAT32: tf.float32, Numbers.BF16: tf.bfloat16, Numbers.INT8: tf.int8}[self]


class FrozenTable:
    """The parts of one table in a graph."""

    def __init__(self, source: TableSource, numbers: Numbers, identity: str) -> None:
        """Add variables and hash table to the current graph.

        Args:
            source: the table.
            numbers: how its rows are stored.
            identity: text that differs for tables with other keys: processes share hash tables by name.
        """
        self.source, self.numbers = source, numbers
        self._start = constant_row(source.initializer, source.left, source.value_dtype)
        with tf.control_dependencies(None), tf.device(DEVICE), tf.name_scope(""):
            self.keys = _variable(f"{source.name}/keys", [source.rows], tf.int64)
            self.rows = _variable(f"{source.name}/rows", [source.rows + 1, source.dim], numbers.dtype)
            self.scales = (
                _variable(f"{source.name}/scales", [source.rows + 1], tf.float32) if numbers is Numbers.INT8 else None
            )
            with tf.name_scope(f"{source.name}/places/"):
                self._places = tf.raw_ops.HashTableV2(
                    key_dtype=tf.int64, value_dtype=tf.int64, shared_name=f"{source.name}_{identity}"
                )
                places = tf.range(tf.constant(source.rows, tf.int64))
                #: The op that fills the hash table, once the variables are restored.
                self.initializer: tf.Operation = tf.raw_ops.LookupTableImportV2(
                    table_handle=self._places, keys=self.keys.value(), values=places, name="fill"
                )

    @property
    def variables(self) -> list[Any]:
        """The variables, in the order keys, rows, scales."""
        return [one for one in (self.keys, self.rows, self.scales) if one is not None]

    @property
    def last_row(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """What the last row is, float32 [dim]."""
        return np.zeros([self.source.dim], np.float32) if self._start is None else self._start

    def find(self, keys: tf.Tensor) -> tf.Tensor:
        """Return the place of each key, int64 of their shape; the number of rows if it has none."""
        nowhere = tf.constant(self.source.rows, tf.int64)
        return tf.raw_ops.LookupTableFindV2(table_handle=self._places, keys=keys, default_value=nowhere)

    def has(self, keys: tf.Tensor) -> tf.Tensor:
        """Return whether each key has a row."""
        return self.find(keys) < self.source.rows

    def begins(self, keys: tf.Tensor) -> tf.Tensor:
        """Return whether each key has a row, or its bucket has one, which it begins as."""
        return self._place(keys) < self.source.rows

    def _place(self, keys: tf.Tensor) -> tf.Tensor:
        """Return the place of each key, or of its bucket if it has none."""
        places = self.find(keys)
        if self.source.buckets is None:
            return places
        return tf.where(places < self.source.rows, places, self.find(self.source.buckets.row_of(keys) + FIRST_BASE_KEY))

    def read(self, keys: tf.Tensor) -> tf.Tensor:
        """Return the rows of int64 keys of any shape: float32 keys.shape + [dim]."""
        return self._read(keys, self._start is None)

    def stored(self, keys: tf.Tensor) -> tf.Tensor:
        """Return the same, but anything for keys that do not begin with a row."""
        return self._read(keys, False)

    def _read(self, keys: tf.Tensor, draws: bool) -> tf.Tensor:
        flat = tf.reshape(keys, [-1])
        places = self._place(flat)
        rows = tf.cast(tf.gather(self.rows, places), tf.float32)
        if self.scales is not None:
            rows *= tf.gather(self.scales, places)[:, None]
        if draws:
            rows = self._with_drawn(rows, flat, places)
        shaped = tf.reshape(rows, tf.concat([tf.shape(keys), [self.source.dim]], 0))
        shaped.set_shape(keys.shape.concatenate([self.source.dim]))
        return shaped

    def _with_drawn(self, rows: tf.Tensor, keys: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        """Return the rows with those of unknown keys drawn; the ops that draw run only if there is such a key."""
        table = self.source

        def rows_with_drawn(rows: tf.Tensor, keys: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
            unknown = tf.where(places >= table.rows)
            new = tf.gather_nd(keys, unknown)
            new = new if table.buckets is None else table.buckets.row_of(new)
            drawn = drawn_rows(table.initializer, table.seed, table.left, new)
            drawn = tf.cast(tf.cast(drawn, table.value_dtype), tf.float32)  # rounded as the table rounds new rows
            return tf.tensor_scatter_nd_update(rows, unknown, drawn)

        def rows_all_known(rows: tf.Tensor, keys: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
            return tf.identity(rows)

        unknown = tf.reduce_any(places >= table.rows)
        return _either(unknown, rows_with_drawn, rows_all_known, [rows, keys, places], table.dim)


def _either(chosen: tf.Tensor, then: Any, other: Any, operands: Sequence[tf.Tensor], dim: int) -> tf.Tensor:
    """Build an If whose branches are functions, which is not taken apart into single ops as tf.cond is."""
    shapes = [[None, dim], [None], [None]]
    specs = [tf.TensorSpec(shape, one.dtype) for shape, one in zip(shapes, operands, strict=True)]
    with tf.Graph().as_default():
        branches = [tf.function(one).get_concrete_function(*specs) for one in (then, other)]
    (result,) = tf.raw_ops.StatelessIf(
        cond=chosen, input=list(operands), Tout=[tf.float32], then_branch=branches[0], else_branch=branches[1]
    )
    return result


def _variable(name: str, shape: Sequence[int], dtype: tf.DType) -> Any:
    return v1.Variable(lambda: tf.zeros(shape, dtype), trainable=False, use_resource=True, name=name, dtype=dtype)
