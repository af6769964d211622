"""Which `keras.layers.Embedding` a table can stand for, and the layer that does."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.initializers import initializer_text
from runtime.keras.embedding import embedding_class
from runtime.keras.layer_settings import same, weight_rules
from runtime.keras.regularizers import factors

#: Floats that are copied into a table at a time.
_BLOCK = 1 << 24


def matrix_of(layer: Any) -> Any:
    """Return the variable with the rows of a stock layer, or None before it is built."""
    return layer.weights[0] if layer.built and layer.weights else None


def reason_to_stay(keras: Any, layer: Any, keep_rows: bool) -> str | None:
    """Return why no table can stand for the layer, a part of a sentence, or None."""
    matrix = matrix_of(layer)
    if not layer.trainable or (matrix is not None and not matrix.trainable):
        return "it is not trained"
    if layer.variable_dtype != "float32":
        return f"its rows are {layer.variable_dtype}, and those of a table float32"
    if layer.embeddings_constraint is not None:
        return "it has an `embeddings_constraint`, which acts on the whole matrix"
    acting = [] if layer.embeddings_regularizer is None else [layer.embeddings_regularizer]
    if matrix is not None and not same(keras, weight_rules(keras, layer), acting):
        return "its regularizer or constraint was changed after its matrix was created"
    if layer.supports_masking != layer.mask_zero:
        return "its `mask_zero` was changed after it was created"
    for setting in ("sparse", "lora_rank", "lora_enabled", "quantization_mode"):
        if getattr(layer, setting, None):
            return f"it has `{setting}`, which tables do not have"
    try:
        if layer.embeddings_regularizer is not None:
            factors(layer.embeddings_regularizer, "it")
        if not keep_rows:
            initializer_text(layer.embeddings_initializer, layer.input_dim, layer.output_dim)
    except ValueError as error:
        return str(error)
    return None


def replacement(keras: Any, layer: Any, keep_rows: bool) -> Any:
    """Return the layer over a table for a stock layer, with its name and, if it is built, its rows."""
    first = layer.embeddings_initializer
    try:
        initializer_text(first, layer.input_dim, layer.output_dim)
    except ValueError:  # all ids of the stock layer have a row; only others, which it refuses, begin with zeros
        first = "zeros"
    config = layer.get_config()
    kept = {key: config[key] for key in ("name", "trainable", "dtype") if key in config}
    table_layer = embedding_class(keras)(
        layer.input_dim,
        layer.output_dim,
        first,
        layer.mask_zero,
        getattr(layer, "input_length", None),
        embeddings_regularizer=layer.embeddings_regularizer,
        activity_regularizer=layer.activity_regularizer,
        **kept,
    )
    matrix = matrix_of(layer)
    if matrix is not None and keep_rows:
        table_layer.build(None)
        step = max(1, _BLOCK // layer.output_dim)
        for start in range(0, layer.input_dim, step):
            rows = np.asarray(matrix[start : start + step])
            table_layer.table.import_rows(np.arange(start, start + len(rows)), rows)
    return table_layer
