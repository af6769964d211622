"""Layers of Keras 2 that read feature columns, as `DenseFeatures`: tables of their columns are trained and saved."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.keras import stored_rows
from runtime.keras.embedding import embedding_class
from runtime.keras.one_device import require_one_process
from runtime.table.anchor import EagerAnchor
from runtime.table.table import Table

__all__ = ["follow", "keras_of"]


def follow(layer: Any, name: str, table: Table) -> None:
    """Let a layer train the table of one of its columns as a weight, and save it with its weights.

    Raises:
        RuntimeError: inside of a tf.distribute strategy.
    """
    require_one_process(layer.name)
    embedding_class(keras_of(layer))  # adapts the optimizers
    kind = type(layer)
    for method, with_rows in (
        ("save_own_variables", stored_rows.save_weights),
        ("load_own_variables", stored_rows.load_weights),
    ):
        if not hasattr(getattr(kind, method), "knows_tables"):
            setattr(kind, method, _knowing(getattr(kind, method), with_rows))
    layer._trainable_weights.append(table.variable)
    _tf_private.track(layer, f"{name}_table", table)


def keras_of(layer: Any) -> Any:
    """Return the module of Keras that a layer is of: `tf.keras`, or `tf_keras` beside Keras 3."""
    kinds = {one.__module__.partition(".")[0] for one in type(layer).__mro__}
    return importlib.import_module("tf_keras") if "tf_keras" in kinds else tf.keras


def _knowing(stock: Callable[[Any, Any], None], with_rows: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    def method(self: Any, store: Any) -> None:
        tables = any(isinstance(weight, EagerAnchor) for weight in self._trainable_weights)
        (with_rows if tables else stock)(self, store)

    method.knows_tables = True  # type: ignore[attr-defined]
    return method
