"""Layers of Keras 2 that read feature columns, as `DenseFeatures`: tables of their columns are trained and saved."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.keras import stock_files, stored_rows
from runtime.keras.embedding import embedding_class
from runtime.keras.one_device import require_one_process
from runtime.table.eager_anchor import EagerAnchor
from runtime.table.table import Table


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
    if not hasattr(kind._lookup_dependency, "knows_tables"):
        kind._lookup_dependency = _with_stock_names(kind._lookup_dependency)
    layer._trainable_weights.append(table.variable)
    _tf_private.track(layer, f"{name}_table", table)
    stock_files.expect(layer, table.variable, [f"{name}/embedding_weights"])


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


def _with_stock_names(stock: Callable[..., Any]) -> Callable[..., Any]:
    def _lookup_dependency(self: Any, name: str, *cached: Any, **more: Any) -> Any:
        """Return the part that a checkpoint calls `name`: also for the variable of a column in one of the original."""
        return stock_files.named(name, self._trainable_weights) or stock(self, name, *cached, **more)

    _lookup_dependency.knows_tables = True  # type: ignore[attr-defined]
    return _lookup_dependency
