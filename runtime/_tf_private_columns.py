"""Private names of TensorFlow's feature columns; tests/runtime/compat/deeprec/test_contrib.py guards each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.feature_column import feature_column, feature_column_v2, serialization

#: The class of `tf.feature_column.embedding_column`.
EmbeddingColumn: type = feature_column_v2.EmbeddingColumn
#: Transforms features once for all columns that read them.
LazyBuilder: Any = feature_column._LazyBuilder


def is_sequence(column: Any) -> bool:
    """Whether a column gives sequences."""
    return isinstance(column, feature_column._SequenceDenseColumn)


def register(kind: type) -> None:
    """Let configurations of layers name a class of columns, so that a model with such columns can be loaded."""
    serialization.register_feature_column(kind)


def scope_of(column: Any) -> str:
    """Return the name of the variable scope of a column's variables."""
    return str(column._var_scope_name)


def sequence_output(column: Any, builder: Any, settings: Mapping[str, Any]) -> tuple[tf.Tensor, tf.Tensor]:
    """Return a column's embeddings, float32 [batch, time, dim], and the lengths of its sequences, int64 [batch]."""
    sequence = column._get_sequence_dense_tensor(builder, **settings)
    return sequence.dense_tensor, sequence.sequence_length
