"""Feature columns with ids of any value: a categorical column of keys, whose embedding is a counted table.

Input layers, and columns that wrap others, are TensorFlow's. A column of this module creates a counted table where
TensorFlow creates a variable, and looks ids up in it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime.embedding_variable.counted_anchor import CountedAnchor
from runtime.embedding_variable.counted_table import CountedTable
from runtime.embedding_variable.create import KeyRules, create_counted_table
from runtime.lookup import counted_pooled
from runtime.lookup.counted import int_keys

v1: Any = tf.compat.v1
_BUCKETS = 2**63 - 1
_TYPES = (tf.string, tf.int64, tf.int32)


def _class_made_by(function: Any) -> Any:
    """Return the class of a stock column, without TensorFlow's deprecation warning."""
    return type(getattr(function, "__wrapped__", function)("key", 2))


_identity = _class_made_by(tf.feature_column.categorical_column_with_identity)
#: The tables of Keras layers, by state manager and column.
_layers: weakref.WeakKeyDictionary[Any, dict[Any, Sequence[CountedTable]]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Keys:
    """The type of a column's ids, and a function that creates its tables from name, dim, initializer and trainable."""

    dtype: tf.DType
    make: Callable[[str, int, Any, bool], Sequence[CountedTable]]


class KeyColumn(_identity):  # type: ignore[misc, valid-type]
    """A column of ids of any value, including strings; the third field of the stock column holds its `Keys`."""

    @property
    def keys(self) -> Keys:
        """The type of the ids, and what creates the tables."""
        keys: Keys = self.default_value
        return keys

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The feature to parse."""
        return {self.key: tf.io.VarLenFeature(self.keys.dtype)}

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec

    def _transform_input_tensor(self, input_tensor: tf.SparseTensor) -> tf.SparseTensor:
        """Return the ids as int64 keys."""
        return tf.SparseTensor(input_tensor.indices, int_keys(input_tensor.values), input_tensor.dense_shape)


def key_column(key: str, dtype: Any, make: Callable[[str, int, Any, bool], Sequence[CountedTable]]) -> KeyColumn:
    """Return the column of feature `key`.

    Raises:
        ValueError: the dtype is not string, int64 or int32.
    """
    if dtype not in _TYPES:
        raise ValueError(f"dtype {dtype!r} of the column {key!r} must be tf.string, tf.int64 or tf.int32")
    return KeyColumn(key, _BUCKETS, Keys(tf.as_dtype(dtype), make))


def sequence_of(column: KeyColumn) -> Any:
    """Return the column for sequences of its ids."""
    return _class_made_by(tf.feature_column.sequence_categorical_column_with_identity)(column)


def categorical_column_with_keys(key: str, dtype: Any = tf.string, rules: KeyRules | None = None) -> KeyColumn:
    """Return a column of feature `key` for `keyed_embedding_column`; each of its values is a key of a table.

    Raises:
        ValueError: the dtype is not string, int64 or int32.
    """

    def make(name: str, dim: int, initializer: Any, trainable: bool) -> Sequence[CountedTable]:
        return [create_counted_table(name, dim, dtype, initializer, rules, trainable)]

    return key_column(key, dtype, make)


def sequence_categorical_column_with_keys(key: str, dtype: Any = tf.string, rules: KeyRules | None = None) -> Any:
    """Return the same column for sequences of ids.

    Raises:
        ValueError: as `categorical_column_with_keys`.
    """
    return sequence_of(categorical_column_with_keys(key, dtype, rules))


def keyed_embedding_column(categorical_column: Any, *args: Any, **kwargs: Any) -> Any:
    """Like `tf.feature_column.embedding_column`, over a counted table if the categorical column is one of keys.

    Over any other categorical column it is TensorFlow's own.
    """
    return over_keys(tf.feature_column.embedding_column, categorical_column, *args, **kwargs)


def keyed_shared_embedding_columns(categorical_columns: Sequence[Any], *args: Any, **kwargs: Any) -> list[Any]:
    """Like `tf.compat.v1.feature_column.shared_embedding_columns`, over one counted table if the columns are of keys.

    Raises:
        ValueError: some of the columns are of keys and some are not.
    """
    return shared_over_keys(v1.feature_column.shared_embedding_columns, categorical_columns, *args, **kwargs)


def over_keys(stock: Any, categorical_column: Any, *args: Any, **kwargs: Any) -> Any:
    """Return `stock(categorical_column, ...)`, over a counted table if the categorical column is one of keys."""
    embedding = getattr(stock, "__wrapped__", stock)(categorical_column, *args, **kwargs)
    if _keys(categorical_column) is None:
        return embedding
    stock_class: Any = type(embedding)
    return _over_table(stock_class)(**embedding._asdict())


def shared_over_keys(stock: Any, categorical_columns: Sequence[Any], *args: Any, **kwargs: Any) -> list[Any]:
    """Return `stock(categorical_columns, ...)`, sharing a counted table if all the columns are of keys."""
    embeddings: list[Any] = getattr(stock, "__wrapped__", stock)(categorical_columns, *args, **kwargs)
    if _keys(categorical_columns[0]) is None:
        return embeddings
    stock_class: Any = type(embeddings[0])
    return [_sharing(stock_class)(**one._asdict()) for one in embeddings]


def is_of_keys(column: Any) -> bool:
    """Whether a column is a `KeyColumn` or wraps one."""
    return _keys(column) is not None


def _keys(column: Any) -> Keys | None:
    """Return the keys of the column that `column` is or wraps."""
    while column is not None:
        if isinstance(column, KeyColumn):
            return column.keys
        column = getattr(column, "categorical_column", None)
    return None


def tables_in_scope(
    column: Any, categorical: Any, trainable: bool, name: str = "embedding_weights"
) -> Sequence[CountedTable]:
    """Return the tables of an embedding column over `categorical` in the open variable scope; with reuse, old ones."""
    keys = _keys(categorical)
    assert keys is not None
    scope = v1.get_variable_scope()
    if scope.reuse:
        start = f"{scope.name}/{name}"
        known = [one.table for one in v1.global_variables(start) if isinstance(one, CountedAnchor)]
        if known:
            return known
    return keys.make(name, column.dimension, column.initializer, trainable)


def _looked_up(column: Any, tables: Sequence[CountedTable], sparse: Any) -> tf.Tensor:
    ids, weights = sparse.id_tensor, sparse.weight_tensor
    rank = tf.compat.dimension_value(ids.dense_shape.shape[0])
    safe = column.use_safe_embedding_lookup or rank is None or rank > 2
    function = counted_pooled.safe_lookup_sparse if safe else counted_pooled.lookup_sparse
    name = f"{column.name}_weights"
    return function(tables, ids, weights, combiner=column.combiner, max_norm=column.max_norm, name=name)


@functools.cache
def _over_table(stock: Any) -> Any:
    """Return the class of stock `embedding_column`s with its variable replaced."""

    class KeyedEmbeddingColumn(stock):  # type: ignore[misc]
        """An embedding column over a counted table."""

        def create_state(self, state_manager: Any) -> None:
            """Create the tables of a Keras layer."""
            layers = _layers.setdefault(state_manager, {})
            layers[self] = tables_in_scope(self, self.categorical_column, self.trainable)

        def _get_dense_tensor_internal(self, sparse_tensors: Any, state_manager: Any) -> tf.Tensor:
            return _looked_up(self, _layers[state_manager][self], sparse_tensors)

        def _old_get_dense_tensor_internal(self, sparse_tensors: Any, weight_collections: Any, trainable: Any) -> Any:
            del weight_collections
            tables = tables_in_scope(self, self.categorical_column, self.trainable and bool(trainable))
            return _looked_up(self, tables, sparse_tensors)

    KeyedEmbeddingColumn.__qualname__ = KeyedEmbeddingColumn.__name__ = stock.__name__
    return KeyedEmbeddingColumn


@functools.cache
def _sharing(stock: Any) -> Any:
    """Return the class of stock `shared_embedding_columns` with its variable replaced."""

    class KeyedSharedEmbeddingColumn(stock):  # type: ignore[misc]
        """One of several columns that share a counted table."""

        def _get_dense_tensor_internal(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
            with tf.name_scope(self.name):
                sparse = self.categorical_column._get_sparse_tensors(
                    inputs, weight_collections=weight_collections, trainable=trainable
                )
                shared = v1.get_collection_ref(self.shared_embedding_collection_name)
                if not shared:
                    tables = tables_in_scope(self, self.categorical_column, self.trainable and bool(trainable))
                    shared += [table.variable for table in tables]
                return _looked_up(self, [anchor.table for anchor in shared], sparse)

    KeyedSharedEmbeddingColumn.__qualname__ = KeyedSharedEmbeddingColumn.__name__ = stock.__name__
    return KeyedSharedEmbeddingColumn
