"""DeepRec's categories over EmbeddingVariables, with its signatures, below columns over tables of the runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import tensorflow as tensorflow

from runtime.feature_column import embedding
from tests.support.standins import deeprec, strict

tf = tensorflow.compat.v1
Hashed: Any = type(tf.feature_column.categorical_column_with_hash_bucket("key", 2))
Sequence: Any = type(tf.feature_column.sequence_categorical_column_with_identity("key", 1))
Weighted: Any = type(tf.feature_column.weighted_categorical_column(Hashed("key", 2, tf.string), "weight"))


class EmbeddingCategory(Hashed):  # type: ignore[misc]
    """Integers are keys as they are, texts by a hash of 63 bits."""

    @property
    def num_buckets(self) -> int:
        return 1

    def _transform_input_tensor(self, input_tensor: Any) -> Any:
        if self.dtype == tf.string:
            return super()._transform_input_tensor(input_tensor)
        if input_tensor.dtype != tf.int64:
            raise ValueError(f"the keys of {self.key} are {input_tensor.dtype.name}, and the variable has int64")
        return input_tensor


def categorical_column_with_embedding(
    key: str, dtype: Any = tf.string, partition_num: Any = None, ev_option: Any = None
) -> Any:
    strict.check("key", key, str)
    if dtype not in (tf.string, tf.int64) or partition_num is not None:
        raise ValueError((dtype, partition_num))
    made = EmbeddingCategory(key, 2**63 - 1, dtype)
    made.ev_option = deeprec.EmbeddingVariableOption() if ev_option is None else ev_option
    strict.check("ev_option", made.ev_option, deeprec.EmbeddingVariableOption)
    return made


def sequence_categorical_column_with_embedding(
    key: str, dtype: Any = tf.int64, partition_num: Any = None, ev_option: Any = None
) -> Any:
    return Sequence(categorical_column_with_embedding(key, dtype, partition_num, ev_option))


def _over_variable(column: Any) -> Any:
    """Return the category of an EmbeddingVariable below a column, or None."""
    inner = column.categorical_column if isinstance(column, Sequence | Weighted) else column
    return inner if isinstance(inner, EmbeddingCategory) else None


def embedding_column(
    categorical_column: Any, dimension: int, combiner: str = "mean", initializer: Any = None,
    ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None, max_norm: Any = None, trainable: bool = True,
    do_fusion: bool = False,
) -> Any:  # fmt: skip
    own = _over_variable(categorical_column) is not None
    make = embedding.embedding_column if own else STOCK["embedding_column"]
    rows = (ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable)
    return make(categorical_column, dimension, combiner, initializer, *rows)


def shared_embedding_columns(
    categorical_columns: Any, dimension: int, combiner: str = "mean", initializer: Any = None,
    shared_embedding_collection_name: Any = None, ckpt_to_load_from: Any = None, tensor_name_in_ckpt: Any = None,
    max_norm: Any = None, trainable: bool = True,
) -> Any:  # fmt: skip
    own = {_over_variable(column) is not None for column in categorical_columns}
    if len(own) > 1:
        raise ValueError("some of the categories have a variable of their own")
    if own == {True} and not all(isinstance(column, EmbeddingCategory) for column in categorical_columns):
        raise ValueError("it would make a matrix of one row")
    make = embedding.shared_embedding_columns if own == {True} else STOCK["shared_embedding_columns"]
    rows = (shared_embedding_collection_name, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable)
    return make(categorical_columns, dimension, combiner, initializer, *rows)


def _create(name: str, column: Any, rows: int) -> Any:
    """Make the variable of a column, as the runtime's columns ask for their table."""
    option = _over_variable(column.categorical_column).ev_option
    made = deeprec.get_embedding_variable(name, column.dimension, initializer=column.initializer, ev_option=option)
    return made.table


NAMES = (
    categorical_column_with_embedding,
    sequence_categorical_column_with_embedding,
    embedding_column,
    shared_embedding_columns,
)
STOCK: dict[str, Any] = {
    name: getattr(tf.feature_column, name) for name in ("embedding_column", "shared_embedding_columns")
}
#: What the runtime's columns take for TensorFlow.
BELOW = SimpleNamespace(feature_column=SimpleNamespace(**STOCK), get_variable_scope=tf.get_variable_scope)


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Make TensorFlow look as DeepRec's, its columns included."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(deeprec.installed())
        stack.enter_context(mock.patch.object(embedding, "_create", _create))
        stack.enter_context(mock.patch.object(embedding, "v1", BELOW))
        for one in NAMES:
            stack.enter_context(mock.patch.object(tf.feature_column, one.__name__, one, create=True))
        yield
