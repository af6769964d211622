"""What `.embeddings` of a stock `Embedding` layer is, over a table: the rows of its ids, read where they are used."""

from __future__ import annotations

from typing import Any, NoReturn

import tensorflow as tf

from runtime.lookup.all_rows import all_rows
from runtime.table.table import Table


class Matrix:
    """The rows of the ids below `input_dim`, float32 [input_dim, dim], as they are at each use.

    TensorFlow, numpy and Keras take it where they take a tensor: `tf.matmul(x, layer.embeddings, transpose_b=True)`,
    `layer.embeddings[1:]`, `np.asarray(layer.embeddings)`. As with the variable of the stock layer, a use in a
    `tf.function` reads the rows in each call. A gradient through it raises LookupError: `runtime.all_rows` with
    `trainable=True` has one. It cannot be assigned; `set_weights` of the layer sets rows.
    """

    #: numpy leaves an operator with an array to this class, as it does with a tensor.
    __array_priority__ = 100

    def __init__(self, table: Table, rows: int, weight: Any) -> None:
        """Take the number of rows, and the weight of Keras that stands for the table."""
        self.table, self._rows, self._weight = table, rows, weight

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.table.table_name

    @property
    def shape(self) -> Any:
        """[input_dim, dim], of the type that a variable of this Keras has."""
        return type(self._weight.shape)((self._rows, self.table.dim))

    @property
    def ndim(self) -> int:
        """2."""
        return 2

    @property
    def dtype(self) -> Any:
        """The type of the rows, as a variable of this Keras gives it: a text."""
        return "float32"

    @property
    def value(self) -> Any:
        """This object: the variable behind a variable of Keras 3 is read where it is used, too."""
        return self

    def numpy(self) -> Any:
        """Return the rows as they are now, a float32 array [input_dim, dim].

        Raises:
            RuntimeError: in a `tf.function`, where only tensors are read.
        """
        if not tf.executing_eagerly():
            raise RuntimeError(f"the rows of the table `{self.name}` can be an array only outside of a tf.function")
        return all_rows(self.table, self._rows).numpy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the rows as they are now."""
        rows = self.numpy()
        return rows if dtype is None else rows.astype(dtype)

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> tf.Tensor:
        """Return the rows as a tensor, in the compute dtype of the layer of Keras 3 that runs.

        Raises:
            ValueError: another dtype is asked for.
        """
        rows = self._cast(all_rows(self.table, self._rows, name=name))
        if dtype is not None and not tf.as_dtype(dtype).is_compatible_with(rows.dtype):
            raise ValueError(
                f"the rows of the table `{self.name}` are {rows.dtype.name}, not {tf.as_dtype(dtype).name}"
            )
        return rows

    def _cast(self, rows: tf.Tensor) -> tf.Tensor:
        return self._weight._maybe_autocast(rows)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise: a table has no other parts of a variable."""
        raise AttributeError(
            f"`embeddings` of a table has no `{name}`: it is the matrix of the rows, to be read; set rows with "
            "set_weights() or `table.import_rows(ids, rows)` of the layer, and train them by calls of the layer"
        )

    def __iter__(self) -> Any:
        """Return an iterator over the rows as they are now."""
        return iter(tf.convert_to_tensor(self))

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Refuse: the copy would follow the same table."""
        raise TypeError(f"`embeddings` of the table `{self.name}` cannot be copied: copy `.numpy()` of it")

    def __repr__(self) -> str:
        return f"<the rows of the table {self.name!r}, {self._rows} x {self.table.dim}>"


class MatrixOfKeras2(Matrix):
    """The same with the types that a variable of Keras 2 has, which is one of TensorFlow."""

    @property
    def dtype(self) -> tf.DType:
        """float32."""
        return tf.float32

    def get_shape(self) -> Any:
        """Return [input_dim, dim]."""
        return self.shape

    def read_value(self) -> tf.Tensor:
        """Return the rows as they are now."""
        return tf.convert_to_tensor(self)

    value = read_value  # type: ignore[assignment]

    def _cast(self, rows: tf.Tensor) -> tf.Tensor:
        return rows


def _operator(name: str) -> Any:
    def apply(self: Matrix, *args: Any) -> Any:
        return getattr(tf.convert_to_tensor(self), name)(*args)

    return apply


for _name in sorted(tf.Tensor.OVERLOADABLE_OPERATORS):
    setattr(Matrix, _name, _operator(_name))
