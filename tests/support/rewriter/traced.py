"""Models whose lines the tests of the trace look for, each marked by a comment of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1
ROWS, DIM = 20, 4


def line_of(mark: str) -> int:
    """Return the number of the line that ends with the comment `mark`."""
    lines = Path(__file__).read_text().splitlines()
    found = [number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}")]
    assert len(found) == 1, (mark, found)
    return found[0]


def plain(ids: Any) -> Any:
    """Return rows that `embedding_lookup` of a variable gives."""
    table = v1.get_variable("plain", [ROWS, DIM])  # plain variable
    return _looked_up(table, ids)


def _looked_up(table: Any, ids: Any) -> Any:
    return tf.nn.embedding_lookup(table, ids, name="plain_rows")  # plain lookup


def column(ids: Any) -> Any:
    """Return the input layer of an embedding column."""
    categories = v1.feature_column.categorical_column_with_identity("ids", ROWS)
    columns = [v1.feature_column.embedding_column(categories, DIM)]
    return v1.feature_column.input_layer({"ids": ids}, columns)  # column


def keras_layer(ids: Any) -> Any:
    """Return rows of a Keras layer, in a graph."""
    layer = v1.keras.layers.Embedding(ROWS, DIM, name="layer")
    return layer(ids)  # layer


def partitioned(ids: Any) -> Any:
    """Return rows of a variable in parts."""
    with v1.variable_scope("model", partitioner=v1.fixed_size_partitioner(2)):
        table = v1.get_variable("parts", [ROWS, DIM])  # parts
    return v1.nn.embedding_lookup(table, ids, name="rows")  # parts lookup
