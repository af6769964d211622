"""Feature columns over growing tables, for TensorFlow's own input layers.

Categorical columns, `input_layer`, `DenseFeatures` and `sequence_input_layer` are TensorFlow's. A column of this
package is the stock column with its lookup replaced, so names, order and parsing specs are unchanged.
"""

from __future__ import annotations

from runtime.feature_column.embedding import embedding_column, shared_embedding_columns
from runtime.feature_column.key_columns import (
    categorical_column_with_keys,
    keyed_embedding_column,
    keyed_shared_embedding_columns,
    sequence_categorical_column_with_keys,
)

__all__ = [
    "categorical_column_with_keys",
    "embedding_column",
    "keyed_embedding_column",
    "keyed_shared_embedding_columns",
    "sequence_categorical_column_with_keys",
    "shared_embedding_columns",
]
