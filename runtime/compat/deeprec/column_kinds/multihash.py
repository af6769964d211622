"""Feature columns over multi-hash variables: the row of an id is composed of those of its quotient and remainder."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime.compat.deeprec.column_kinds.pooling import pooled
from runtime.compat.deeprec.composed import get_multihash_variable
from runtime.feature_column.key_columns import KeyColumn

v1: Any = tf.compat.v1
_BUCKETS = 2**63 - 1


@dataclass(frozen=True)
class _Composition:
    """The rows of the two variables, how they are composed, and the widths, which the embedding column knows."""

    dtype: tf.DType
    rows: tuple[int, int]
    strategy: str
    operation: str
    widths: tuple[int, int] = (0, 0)


class MultihashColumn(KeyColumn):
    """A column of integer ids; its field `default_value` is a `_Composition`."""


def categorical_column_with_multihash(
    key: str,
    dims: Sequence[int],
    num_of_partitions: int = 2,
    complementary_strategy: str = "Q-R",
    operation: str = "add",
    dtype: Any = tf.int64,
) -> Any:
    """Return the column of feature `key`, to wrap in an `embedding_column` with two dimensions.

    Id i has row i // dims[0] of the first variable and row i mod dims[1] of the second.

    Raises:
        ValueError: there are not two dims, or ids are not integers.
    """
    if len(dims) != 2 or num_of_partitions != 2 or any(int(one) < 1 for one in dims):
        raise ValueError(f"dims {dims!r} of the multi-hash column {key!r} must be the rows of two variables")
    if dtype not in (tf.int64, tf.int32):
        raise ValueError(f"dtype {dtype!r} of the multi-hash column {key!r} must be tf.int64 or tf.int32")
    rows = (int(dims[0]), int(dims[1]))
    return MultihashColumn(key, _BUCKETS, _Composition(tf.as_dtype(dtype), rows, complementary_strategy, operation))


def over_multihash(stock: Any, column: Any, dimension: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the embedding column over two variables whose rows have the two widths in `dimension`.

    Raises:
        ValueError: there are not two widths, or they differ where the operation needs equal ones.
    """
    widths = tuple(dimension) if isinstance(dimension, (list, tuple)) else ()
    composition: _Composition = column.default_value
    if len(widths) != 2 or (composition.operation != "concat" and widths[0] != widths[1]):
        raise ValueError(
            f"dimension {dimension!r} of the multi-hash column {column.key!r} must be the widths of its two variables, "
            f"equal ones to {composition.operation}"
        )
    spec = _Composition(
        composition.dtype,
        composition.rows,
        composition.strategy,
        composition.operation,
        (int(widths[0]), int(widths[1])),
    )
    width = sum(spec.widths) if spec.operation == "concat" else spec.widths[0]
    categorical = MultihashColumn(column.key, _BUCKETS, spec)
    embedding = getattr(stock, "__wrapped__", stock)(categorical, width, *args, **kwargs)
    stock_class: Any = type(embedding)
    return _over(stock_class)(**embedding._asdict())


@functools.cache
def _over(stock: Any) -> Any:
    class MultihashEmbeddingColumn(stock):  # type: ignore[misc]
        """An embedding column over a multi-hash variable, for `input_layer`."""

        def _old_get_dense_tensor_internal(self, sparse_tensors: Any, weight_collections: Any, trainable: Any) -> Any:
            spec: _Composition = self.categorical_column.default_value
            variable = get_multihash_variable(
                "embedding_weights",
                list(zip(spec.rows, spec.widths, strict=True)),
                complementary_strategy=spec.strategy,
                operation=spec.operation,
                initializer=self.initializer,
                trainable=self.trainable and bool(trainable),
                collections=[v1.GraphKeys.GLOBAL_VARIABLES, *(weight_collections or ())],
            )
            ids = sparse_tensors.id_tensor

            def rows(kept: tf.Tensor) -> tf.Tensor:
                return variable.rows(tf.boolean_mask(ids.values, kept), None)

            return pooled(rows, ids, sparse_tensors.weight_tensor, self)

    return MultihashEmbeddingColumn
