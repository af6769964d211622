"""DeepRec's feature columns: a categorical column whose embedding is an EmbeddingVariable.

Input layers, and the columns that wrap others, are TensorFlow's: a column of this module only makes an
EmbeddingVariable where stock makes a variable, and looks ids up in it.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime.compat.deeprec.creation import get_embedding_variable
from runtime.compat.deeprec.lookups import embedding_lookup_sparse, safe_embedding_lookup_sparse
from runtime.compat.deeprec.options import EmbeddingVariableOption
from runtime.compat.deeprec.variable import EmbeddingVariable, int_keys

__all__ = [
    "categorical_column_with_embedding",
    "embedding_column",
    "sequence_categorical_column_with_embedding",
    "shared_embedding_columns",
    "sparse_column_with_embedding",
]

v1: Any = tf.compat.v1
_BUCKETS = 2**63 - 1
_TYPES = (tf.string, tf.int64, tf.int32)


def _class_made_by(function: Any) -> Any:
    """Return the class of a stock column, without the warning that stock columns are to be given up."""
    return type(getattr(function, "__wrapped__", function)("key", 2))


_identity = _class_made_by(tf.feature_column.categorical_column_with_identity)
#: The variables of Keras layers: state manager -> column -> variable.
_layers: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class _Settings:
    """What makes the EmbeddingVariable of a column, besides what `embedding_column` says."""

    dtype: tf.DType
    partition_num: int | None
    option: EmbeddingVariableOption
    steps_to_live: int | None = None


class EmbeddingCategoricalColumn(_identity):  # type: ignore[misc, valid-type]
    """A column of ids of any value, strings too; the third field of the stock column holds its `_Settings`."""

    @property
    def settings(self) -> _Settings:
        """What makes the EmbeddingVariable."""
        settings: _Settings = self.default_value
        return settings

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The feature to parse."""
        return {self.key: tf.io.VarLenFeature(self.settings.dtype)}

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec

    def _transform_input_tensor(self, input_tensor: tf.SparseTensor) -> tf.SparseTensor:
        """Return the ids as int64 keys."""
        return tf.SparseTensor(input_tensor.indices, int_keys(input_tensor.values), input_tensor.dense_shape)


def categorical_column_with_embedding(
    key: str,
    dtype: Any = tf.string,
    partition_num: int | None = None,
    ev_option: EmbeddingVariableOption | None = None,
) -> Any:
    """Return the column of feature `key`, to wrap in an `embedding_column`; its values are the ids.

    Raises:
        ValueError: a dtype other than string, int64 and int32, or fewer than one partition.
    """
    return _column(key, dtype, partition_num, ev_option)


def sequence_categorical_column_with_embedding(
    key: str,
    dtype: Any = tf.string,
    partition_num: int | None = None,
    ev_option: EmbeddingVariableOption | None = None,
) -> Any:
    """Return the same column for sequences of ids.

    Raises:
        ValueError: as `categorical_column_with_embedding`.
    """
    sequence = _class_made_by(tf.feature_column.sequence_categorical_column_with_identity)
    return sequence(_column(key, dtype, partition_num, ev_option))


def sparse_column_with_embedding(
    column_name: str,
    dtype: Any = tf.string,
    partition_num: int | None = None,
    steps_to_live: int | None = None,
    init_data_source: Any = None,
    ht_partition_num: int = 1000,
    ev_option: EmbeddingVariableOption | None = None,
) -> Any:
    """Return the column under the name that `tf.contrib.layers` has for it.

    Raises:
        ValueError: as `categorical_column_with_embedding`, or an `init_data_source`.
    """
    del ht_partition_num
    if init_data_source is not None:
        raise ValueError("`init_data_source` is not supported: leave it out and restore a checkpoint")
    return _column(column_name, dtype, partition_num, ev_option, steps_to_live)


def _column(key: str, dtype: Any, partition_num: Any, option: Any, steps_to_live: int | None = None) -> Any:
    if dtype not in _TYPES:
        raise ValueError(f"dtype {dtype!r} of the column {key!r} must be tf.string, tf.int64 or tf.int32")
    if partition_num is not None and (not isinstance(partition_num, int) or partition_num < 1):
        raise ValueError(f"partition_num {partition_num!r} of the column {key!r} must be None or an int of 1 or more")
    option = EmbeddingVariableOption() if option is None else option
    settings = _Settings(tf.as_dtype(dtype), partition_num, option, steps_to_live)
    return EmbeddingCategoricalColumn(key, _BUCKETS, settings)


def _settings(column: Any) -> _Settings | None:
    """Return the settings of the column that `column` is or wraps."""
    while column is not None:
        if isinstance(column, EmbeddingCategoricalColumn):
            return column.settings
        column = getattr(column, "categorical_column", None)
    return None


def embedding_column(stock: Any, categorical_column: Any, *args: Any, do_fusion: bool = False, **kwargs: Any) -> Any:
    """Return `stock(categorical_column, ...)`, over an EmbeddingVariable where the categorical column says so.

    `do_fusion` changes nothing: the look-up is one op anyway.
    """
    del do_fusion
    made = stock(categorical_column, *args, **kwargs)
    if _settings(categorical_column) is None:
        return made
    stock_class: Any = type(made)
    return _over_variable(stock_class)(**made._asdict())


def shared_embedding_columns(stock: Any, categorical_columns: Sequence[Any], *args: Any, **kwargs: Any) -> list[Any]:
    """Return `stock(categorical_columns, ...)`, which share an EmbeddingVariable if the columns, all alike, say so."""
    made: list[Any] = stock(categorical_columns, *args, **kwargs)
    if _settings(categorical_columns[0]) is None:
        return made
    stock_class: Any = type(made[0])
    return [_sharing(stock_class)(**one._asdict()) for one in made]


def _variable(column: Any, categorical: Any, trainable: bool) -> Any:
    """Return the EmbeddingVariable of the open variable scope; under reuse the one that exists."""
    settings = _settings(categorical)
    assert settings is not None
    scope = v1.get_variable_scope()
    if scope.reuse:
        start = f"{scope.name}/embedding_weights"
        known = [one for one in v1.global_variables(start) if isinstance(one, EmbeddingVariable)]
        if known:
            return known if settings.partition_num else known[0]
    parts = settings.partition_num
    return get_embedding_variable(
        "embedding_weights",
        column.dimension,
        key_dtype=settings.dtype,
        initializer=column.initializer,
        trainable=trainable,
        partitioner=None if parts is None else v1.fixed_size_partitioner(parts),
        steps_to_live=settings.steps_to_live,
        ev_option=settings.option,
    )


def _looked_up(column: Any, variable: Any, sparse: Any) -> tf.Tensor:
    ids, weights = sparse.id_tensor, sparse.weight_tensor
    rank = tf.compat.dimension_value(ids.dense_shape.shape[0])
    safe = column.use_safe_embedding_lookup or rank is None or rank > 2
    function = safe_embedding_lookup_sparse if safe else embedding_lookup_sparse
    name = f"{column.name}_weights"
    return function(variable, ids, weights, combiner=column.combiner, max_norm=column.max_norm, name=name)


@functools.cache
def _over_variable(stock: Any) -> Any:
    """Return the class of stock `embedding_column`s with the variable replaced."""

    class VariableEmbeddingColumn(stock):  # type: ignore[misc]
        """An embedding column over an EmbeddingVariable."""

        def create_state(self, state_manager: Any) -> None:
            """Make the variable of a Keras layer."""
            made = _layers.setdefault(state_manager, {})
            made[self] = _variable(self, self.categorical_column, self.trainable)

        def _get_dense_tensor_internal(self, sparse_tensors: Any, state_manager: Any) -> tf.Tensor:
            return _looked_up(self, _layers[state_manager][self], sparse_tensors)

        def _old_get_dense_tensor_internal(self, sparse_tensors: Any, weight_collections: Any, trainable: Any) -> Any:
            del weight_collections
            return _looked_up(
                self, _variable(self, self.categorical_column, self.trainable and bool(trainable)), sparse_tensors
            )

    VariableEmbeddingColumn.__qualname__ = VariableEmbeddingColumn.__name__ = stock.__name__
    return VariableEmbeddingColumn


@functools.cache
def _sharing(stock: Any) -> Any:
    """Return the class of stock `shared_embedding_columns` with the variable replaced."""

    class VariableSharedEmbeddingColumn(stock):  # type: ignore[misc]
        """One of several columns over an EmbeddingVariable."""

        def _get_dense_tensor_internal(self, inputs: Any, weight_collections: Any = None, trainable: Any = None) -> Any:
            with tf.name_scope(self.name):
                sparse = self.categorical_column._get_sparse_tensors(
                    inputs, weight_collections=weight_collections, trainable=trainable
                )
                shared = v1.get_collection_ref(self.shared_embedding_collection_name)
                if not shared:
                    shared.append(_variable(self, self.categorical_column, self.trainable and bool(trainable)))
                return _looked_up(self, shared[0], sparse)

    VariableSharedEmbeddingColumn.__qualname__ = VariableSharedEmbeddingColumn.__name__ = stock.__name__
    return VariableSharedEmbeddingColumn
