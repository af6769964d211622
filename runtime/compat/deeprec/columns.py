"""DeepRec's feature columns: a categorical column whose embedding is an EmbeddingVariable.

They are the runtime's columns of keys; this module only defines how the EmbeddingVariable is created.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.compat.deeprec.column_kinds.adaptive import (
    AdaptiveColumn,
    adaptive_column,
    masks_given,
    over_adaptive,
    refuse_adaptive,
)
from runtime.compat.deeprec.column_kinds.multihash import (
    MultihashColumn,
    categorical_column_with_multihash,
    over_multihash,
)
from runtime.compat.deeprec.creation import get_embedding_variable, lookups_creating
from runtime.compat.deeprec.options import EmbeddingVariableOption
from runtime.compat.deeprec.variable import EmbeddingVariable
from runtime.embedding_variable.counted_table import CountedTable
from runtime.feature_column.key_columns import (
    KeyColumn,
    is_of_keys,
    key_column,
    over_keys,
    sequence_of,
    shared_over_keys,
)

__all__ = [
    "categorical_column_with_adaptive_embedding",
    "categorical_column_with_embedding",
    "categorical_column_with_multihash",
    "embedding_column",
    "input_layer",
    "linear_model",
    "sequence_categorical_column_with_embedding",
    "shared_embedding_columns",
    "sparse_column_with_embedding",
]

v1: Any = tf.compat.v1


def categorical_column_with_embedding(
    key: str,
    dtype: Any = tf.string,
    partition_num: int | None = None,
    ev_option: EmbeddingVariableOption | None = None,
) -> Any:
    """Return the column of feature `key`, to wrap in an `embedding_column`; its values are the ids.

    Raises:
        ValueError: the dtype is not string, int64 or int32, or there is fewer than one partition.
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
    return sequence_of(_column(key, dtype, partition_num, ev_option))


def sparse_column_with_embedding(
    column_name: str,
    dtype: Any = tf.string,
    partition_num: int | None = None,
    steps_to_live: int | None = None,
    init_data_source: Any = None,
    ht_partition_num: int = 1000,
    ev_option: EmbeddingVariableOption | None = None,
    evconfig: EmbeddingVariableOption | None = None,
) -> Any:
    """Return the column, under its name in `tf.contrib.layers`; `evconfig` is an older name of `ev_option`.

    Raises:
        ValueError: as `categorical_column_with_embedding`; also for an `init_data_source`, or options under both names.
    """
    del ht_partition_num
    if ev_option is not None and evconfig is not None:
        raise ValueError(f"the column {column_name!r} has both an ev_option and an evconfig: give one of them")
    if init_data_source is not None:
        raise ValueError("`init_data_source` is not supported: leave it out and restore a checkpoint")
    return _column(column_name, dtype, partition_num, ev_option or evconfig, steps_to_live)


def categorical_column_with_adaptive_embedding(
    key: str,
    hash_bucket_size: int,
    dtype: Any = tf.string,
    partition_num: int | None = None,
    ev_option: EmbeddingVariableOption | None = None,
) -> Any:
    """Return the column of feature `key`, to wrap in an `embedding_column` for `input_layer`.

    Samples with a mask of 0 read one of `hash_bucket_size` rows, by the hash of the id; those with 1 read an
    EmbeddingVariable, whose rows begin as the row of the hash is then.

    Raises:
        ValueError: as `categorical_column_with_embedding`, or there are fewer than one bucket.
    """
    return adaptive_column(_column(key, dtype, partition_num, ev_option, creating=lookups_creating), hash_bucket_size)


def _column(
    key: str,
    dtype: Any,
    partition_num: Any,
    option: Any,
    steps_to_live: int | None = None,
    creating: Any = contextlib.nullcontext,
) -> KeyColumn:
    if partition_num is not None and (not isinstance(partition_num, int) or partition_num < 1):
        raise ValueError(f"partition_num {partition_num!r} of the column {key!r} must be None or an int of 1 or more")

    def make(name: str, dim: int, initializer: Any, trainable: bool) -> Sequence[CountedTable]:
        with creating():
            variable = get_embedding_variable(
                name,
                dim,
                key_dtype=dtype,
                initializer=initializer,
                trainable=trainable,
                partitioner=None if partition_num is None else v1.fixed_size_partitioner(partition_num),
                steps_to_live=steps_to_live,
                ev_option=option,
            )
        return [one.table for one in ([variable] if isinstance(variable, EmbeddingVariable) else variable)]

    return key_column(key, dtype, make)


def embedding_column(stock: Any, categorical_column: Any, *args: Any, do_fusion: bool = False, **kwargs: Any) -> Any:
    """Return `stock(categorical_column, ...)`, over an EmbeddingVariable if the categorical column has one.

    `do_fusion` has no effect: the lookup is always one op.
    """
    del do_fusion
    if isinstance(categorical_column, AdaptiveColumn):
        return over_adaptive(stock, categorical_column, *args, **kwargs)
    refuse_adaptive(categorical_column, "weighted")
    over = over_multihash if isinstance(categorical_column, MultihashColumn) else over_keys
    return over(stock, categorical_column, *args, **kwargs)


def shared_embedding_columns(
    stock: Any, categorical_columns: Sequence[Any], *args: Any, do_fusion: bool = False, **kwargs: Any
) -> list[Any]:
    """Return `stock(categorical_columns, ...)`, over one EmbeddingVariable if the columns have one.

    `do_fusion` has no effect: each lookup is always one op.
    """
    del do_fusion
    for column in categorical_columns:
        refuse_adaptive(column, "shared")
    return shared_over_keys(stock, categorical_columns, *args, **kwargs)


def input_layer(stock: Any, *args: Any, adaptive_mask_tensors: Any = None, **kwargs: Any) -> Any:
    """Return `stock(...)`; the masks are those of adaptive columns, by feature: integers [batch], 0 or 1.

    Raises:
        ValueError: an adaptive column has no mask.
    """
    with masks_given(adaptive_mask_tensors):
        return stock(*args, **kwargs)


def linear_model(
    stock: Any,
    features: Any,
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: Any = None,
    do_fusion: bool = False,
) -> tf.Tensor:
    """Return the result of the stock function, float32 [batch, units]; columns over EmbeddingVariables get variables.

    `do_fusion` has no effect: each lookup is always one op.
    """
    del do_fusion
    listed = list(feature_columns) if isinstance(feature_columns, (list, tuple, set)) else [feature_columns]
    own = [column for column in listed if is_of_keys(column) and not hasattr(column, "dimension")]
    others = [column for column in listed if column not in own]
    settings = (units, sparse_combiner, weight_collections, trainable, cols_to_vars)
    if not own:
        return stock(features, others, *settings)
    zeros = v1.zeros_initializer()
    sums = [stock(features, others, *settings)] if others else []
    with v1.variable_scope(None, default_name="linear_model"):
        for column_of_keys in own:
            embedding = v1.feature_column.embedding_column(
                column_of_keys, units, sparse_combiner, zeros, trainable=trainable
            )
            variables: dict[Any, Any] = {}
            sums.append(v1.feature_column.input_layer(features, [embedding], cols_to_vars=variables))
            if cols_to_vars is not None:
                cols_to_vars[column_of_keys] = variables[embedding]
        if others:
            return tf.add_n(sums)
        bias = v1.get_variable("bias_weights", [units], initializer=zeros, trainable=trainable)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return tf.add_n(sums) + bias
