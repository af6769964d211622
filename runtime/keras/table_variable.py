"""A variable of eager code over a growing table, in place of a `tf.Variable` that is looked up."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf

from runtime.keras import stock_files
from runtime.keras.lookups import looked_up
from runtime.keras.matrix import MatrixOfKeras2
from runtime.table import arguments as table_arguments
from runtime.table.create import Anchors, create_table, created, tables
from runtime.table.eager_anchor import EagerAnchor
from runtime.table.table import Table

_DEFAULTS = {name: one.default for name, one in inspect.signature(create_table).parameters.items()}


class TableVariable(EagerAnchor):
    """What `table_variable` returns: TensorFlow takes it for a variable, of which it reads the rows by their ids.

    Its `table` has the rows. A tape, Keras' optimizers, `tf.Module` and checkpoints know it as the variable.
    """

    of_keras = True

    def __init__(self, table: Table) -> None:
        """Create the variable of a table; call `table_variable` instead."""
        super().__init__(table)
        self.rank = 2  #: 1 where an id has one number instead of a row
        self.original = stock_files.StockMatrix(table)  #: what a checkpoint of the variable fills

    def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Return the rows of ids, as `tf.gather` and `tf.nn.embedding_lookup` ask for them."""
        rows = looked_up(self.table, self.table.arguments.device_vocabulary_size, _integers(indices), name=name)
        return tf.squeeze(rows, -1) if self.rank == 1 else rows

    @property
    def matrix(self) -> MatrixOfKeras2:
        """The rows of all ids that the variable was made for, read where they are used; no gradient passes."""
        kind = Column if self.rank == 1 else MatrixOfKeras2
        return kind(self.table, self.table.arguments.device_vocabulary_size, self)

    def value(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: code that reads the variable as a whole would get no rows."""
        raise TypeError(
            f"the variable of the table `{self.table.table_name}` is read as a whole: look ids up with "
            "tf.nn.embedding_lookup, or read `.matrix`, which has no gradient"
        )

    read_value = value
    _dense_var_to_tensor = value

    def _restore_from_tensors(self, restored_tensors: Any) -> Any:
        """Take the rows of a variable in a checkpoint of the original; those of a table are restored apart."""
        (restored,) = restored_tensors.values()
        if restored.shape[:1] == [0]:
            return super()._restore_from_tensors(restored_tensors)
        self.original.put(tf.expand_dims(restored, 1) if self.rank == 1 else restored)
        return None


class Column(MatrixOfKeras2):
    """The same for one number of each id: a vector."""

    ndim = 1

    @property
    def shape(self) -> Any:
        """[rows]."""
        return tf.TensorShape([self._rows])

    def _cast(self, rows: tf.Tensor) -> tf.Tensor:
        return tf.squeeze(rows, -1)

    def numpy(self) -> Any:
        """Return the numbers as they are now, a float32 array [rows]."""
        return np.squeeze(super().numpy(), -1)


def table_variable(
    initializer: Any, shape: int | Sequence[int] | tf.TensorShape, name: str = "Variable", trainable: bool = True
) -> TableVariable:
    """Return a variable of eager code whose rows lie in a growing table, for `tf.Variable(initializer(shape))`.

    `tf.gather` and `tf.nn.embedding_lookup` give the rows of any ids. A tape gives the gradient of the rows of the
    batch, and SGD, Adagrad, Adam and AdamW of Keras train it with the numbers of the variable.

    Args:
        initializer: of TensorFlow or Keras, which draws rows independently of each other.
        shape: [rows, dim], or [rows] for one number of each id. The rows are what `.matrix` reads, no limit.
        name: of the table; a number is appended where another eager table has it, whose first rows would be the same.
        trainable: whether a tape watches it.

    Raises:
        RuntimeError: inside of a `tf.function`, or in a v1 graph.
        ValueError: an argument has a wrong type or range.
    """
    if not tf.executing_eagerly():
        raise RuntimeError(f"table_variable({name!r}) was called in a graph: create it once, outside, in eager mode")
    sizes = tf.TensorShape(shape).as_list()
    if len(sizes) not in (1, 2) or None in sizes:
        raise ValueError(f"the shape of the table variable {name!r} must be [rows, dim] or [rows]: got {shape!r}")
    arguments = _DEFAULTS | {
        "key_dtype": tf.int64,
        "dim": sizes[1] if len(sizes) == 2 else 1,
        "name": _free(name),
        "emb_initializer": initializer,
        "device_vocabulary_size": sizes[0],
        "trainable": trainable,
    }
    table = created(table_arguments.checked(arguments), Anchors(eager=TableVariable))
    variable: TableVariable = table.variable
    variable.rank = len(sizes)
    return variable


def _free(name: str) -> str:
    taken, number, free = {table.table_name for table in tables()}, 1, name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def _integers(ids: Any) -> Any:
    ids = ids if isinstance(ids, tf.RaggedTensor) else tf.convert_to_tensor(ids)
    return ids if ids.dtype in (tf.int32, tf.int64) else tf.cast(ids, tf.int64)
