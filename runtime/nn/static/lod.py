"""`LoDTensor`: sequences of different lengths; and the tensors that a program is fed with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1


class LoDTensor:
    """Sequences one after the other, and where each begins; operators and TensorFlow's functions take all their items.

    What they return has no sequences any more, other than in Paddle: lookups keep them.
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        """Take the items [all, …] and int64 [sequences + 1]: sequence i has the items from splits[i] to splits[i+1]."""
        self.values, self.row_splits = tf.convert_to_tensor(values), tf.convert_to_tensor(row_splits)

    def with_values(self, values: tf.Tensor) -> LoDTensor:
        """Return the same sequences of other items, one for each."""
        return LoDTensor(values, self.row_splits)

    @property
    def shape(self) -> tf.TensorShape:
        """The shape of all items together."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions of all items together."""
        return int(self.values.shape.rank)

    @property
    def dtype(self) -> tf.DType:
        """The dtype of the items."""
        return self.values.dtype

    @property
    def name(self) -> str:
        """The name of the items' tensor."""
        return str(self.values.name)

    def __getitem__(self, index: Any) -> tf.Tensor:
        """Return a part of all items."""
        return self.values[index]

    def __repr__(self) -> str:
        return f"<LoDTensor {self.name}, shape {self.shape}, {self.dtype.name}>"

    #: NumPy leaves operators to this class.
    __array_priority__ = 200


def _as_tensor(value: LoDTensor, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    del as_ref
    return tf.convert_to_tensor(value.values, dtype, name=name)


def _operator(name: str) -> Callable[..., Any]:
    def method(self: LoDTensor, *others: Any) -> Any:
        return getattr(self.values, name)(*others)

    method.__name__ = name
    return method


_TWO = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
for _name in (*_TWO, *(f"r{name}" for name in _TWO), "neg", "abs", "lt", "le", "gt", "ge"):
    setattr(LoDTensor, f"__{_name}__", _operator(f"__{_name}__"))
tf.register_tensor_conversion_function(LoDTensor, _as_tensor)


def data(name: str, shape: Sequence[int | None], dtype: Any = None, lod_level: int = 0) -> Any:
    """Return a placeholder of a batch: a tensor, or with `lod_level=1` sequences.

    Args:
        name: of what is fed; other characters than TensorFlow takes become underscores.
        shape: sizes; None or -1 are known when it is fed. With sequences, the first is that of all items together.
        dtype: of the elements; None: float32.
        lod_level: 0 or 1.

    Raises:
        ValueError: `lod_level` is something else.
    """
    if lod_level not in (0, 1):
        raise ValueError(f"data({name!r}) got lod_level={lod_level!r}: sequences of sequences are not supported")
    sizes = [None if size is None or size < 0 else size for size in shape]
    called = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in name)
    called = called if called[:1].isalnum() else f"feed{called}"
    values = v1.placeholder(tf.as_dtype(dtype or "float32"), sizes, called)
    return LoDTensor(values, v1.placeholder(tf.int64, [None], f"{called}_splits")) if lod_level else values
