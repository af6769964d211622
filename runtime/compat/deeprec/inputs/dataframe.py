"""DeepRec's `DataFrame`: descriptions of columns, and the values of those that hold lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

__all__ = ["DataFrame", "to_sparse", "unbatch_and_to_sparse"]


class DataFrame:
    """DeepRec's namespace for columns of files."""

    @dataclass(frozen=True)
    class Field:
        """A column of a file, with its type, how deeply its lists are nested, and the shape of what a row holds."""

        name: str
        dtype: Any = None
        ragged_rank: int | None = None
        shape: Any = None

        def __post_init__(self) -> None:
            """Check the shape.

            Raises:
                ValueError: it is not whole, or rows hold lists.
            """
            if self.shape and (self.ragged_rank or not tf.TensorShape(self.shape).is_fully_defined()):
                raise ValueError(
                    f"the field {self.name!r} has the shape {self.shape!r} and ragged_rank {self.ragged_rank!r}: give "
                    "a whole shape, and no lists of it"
                )

        @property
        def incomplete(self) -> bool:
            """Whether the type or the depth of the lists is not known."""
            return self.dtype is None or self.ragged_rank is None

        @property
        def output_types(self) -> Any:
            """The types of a batch: one, or a `DataFrame.Value` of them."""
            return self._each(tf.as_dtype(self.dtype), tf.int32)

        def output_shapes(self, rows: int | None = None) -> Any:
            """Return the shapes of a batch of this number of rows."""
            if self.ragged_rank:
                return self._each(tf.TensorShape([None]), tf.TensorShape([None]))
            return tf.TensorShape([rows, *(self.shape or ())])

        def _each(self, values: Any, splits: Any) -> Any:
            return DataFrame.Value(values, (splits,) * self.ragged_rank) if self.ragged_rank else values

    class Value(NamedTuple):
        """Lists of a batch: all values one after the other, and where the lists of each depth end, as int32."""

        values: Any
        nested_row_splits: tuple[Any, ...] = ()

        def to_sparse(self, name: str | None = None) -> Any:
            """Return the values at their places, as a SparseTensor; without lists, the values."""
            if not self.nested_row_splits:
                return self.values
            return tf.RaggedTensor.from_nested_row_splits(self.values, self.nested_row_splits).to_sparse(name)

    @classmethod
    def to_sparse(cls, features: Any) -> Any:
        """Return features with lists, in a dict or alone, as SparseTensors.

        Raises:
            ValueError: a feature is neither a tensor nor such lists.
        """
        if isinstance(features, dict):
            return {name: cls.to_sparse(value) for name, value in features.items()}
        if isinstance(features, (cls.Value, tf.RaggedTensor)):
            return features.to_sparse()
        if not tf.is_tensor(features):
            raise ValueError(f"{features!r} is no feature of a DataFrame: give a tensor, a DataFrame.Value or a dict")
        return features

    @classmethod
    def unbatch_and_to_sparse(cls, features: Any) -> Any:
        """Return features of a batch of one row without the batch; lists as SparseTensors.

        Raises:
            ValueError: as `to_sparse`.
        """
        if isinstance(features, dict):
            return {name: cls.unbatch_and_to_sparse(value) for name, value in features.items()}
        sparse = cls.to_sparse(features)
        return tf.sparse.reshape(sparse, sparse.dense_shape[1:]) if isinstance(sparse, tf.SparseTensor) else sparse


def to_sparse(num_parallel_calls: int | None = None) -> Callable[[Any], Any]:
    """Return what `Dataset.apply` takes to convert lists into SparseTensors."""
    return lambda dataset: dataset.map(DataFrame.to_sparse, num_parallel_calls=num_parallel_calls)


def unbatch_and_to_sparse(num_parallel_calls: int | None = None) -> Callable[[Any], Any]:
    """Return what `Dataset.apply` takes to convert batches of one row."""
    return lambda dataset: dataset.map(DataFrame.unbatch_and_to_sparse, num_parallel_calls=num_parallel_calls)
