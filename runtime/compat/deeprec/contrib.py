"""The columns of `tf.contrib.layers`, whose arguments have other names than those of `tf.feature_column`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import tensorflow as tf

__all__ = [
    "embedding_column",
    "input_from_feature_columns",
    "shared_embedding_columns",
    "weighted_sum_from_feature_columns",
]

v1: Any = tf.compat.v1


def embedding_column(sparse_id_column: Any = None, dimension: int | None = None, *settings: Any, **named: Any) -> Any:
    """Return `tf.feature_column.embedding_column` of the column, which may also be given as `categorical_column`.

    Raises:
        TypeError: the column or the dimension is missing.
    """
    column = named.pop("categorical_column", sparse_id_column)
    if column is None or dimension is None:
        raise TypeError("embedding_column of tf.contrib.layers needs a sparse_id_column and a dimension: give both")
    return v1.feature_column.embedding_column(column, dimension, *settings, **named)


def shared_embedding_columns(
    sparse_id_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    do_fusion: bool = False,
) -> list[Any]:
    """Return `tf.feature_column.shared_embedding_columns` of the columns."""
    return list(
        v1.feature_column.shared_embedding_columns(
            sparse_id_columns,
            dimension,
            combiner,
            initializer,
            shared_embedding_name,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
            do_fusion=do_fusion,
        )
    )


def input_from_feature_columns(
    columns_to_tensors: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: Any = None,
) -> tf.Tensor:
    """Return the concatenated outputs of all columns, float32 [batch, width], in the order of their names.

    Raises:
        ValueError: `cols_to_outs` is given.
    """
    if cols_to_outs is not None:
        raise ValueError("`cols_to_outs` is not supported: give input_layer cols_to_output_tensors")
    with v1.variable_scope(scope, default_name="input_from_feature_columns"):
        return v1.feature_column.input_layer(columns_to_tensors, feature_columns, weight_collections, trainable)


def weighted_sum_from_feature_columns(columns_to_tensors: Any, feature_columns: Any, **named: Any) -> NoReturn:
    """Refuse it.

    Raises:
        NotImplementedError: always.
    """
    del columns_to_tensors, named
    raise NotImplementedError(
        f"weighted_sum_from_feature_columns of {feature_columns!r} is not supported: use tf.feature_column.linear_model"
    )
