"""Intercepts embedding columns in layers of Keras 2, stock ones and those of the runtime."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf


class ColumnRows:
    """The variable of a column in a layer, in place of a layer that holds one."""

    def __init__(self, variable: Any) -> None:
        """Take the variable, or the one that stands for the table."""
        self.weights = self.trainable_weights = [variable]


def columns() -> list[Any]:
    """Return the classes of embedding columns of TensorFlow and of the runtime."""
    importlib.import_module("runtime.feature_column")
    item = _quietly(tf.feature_column.categorical_column_with_identity)("item", 2)
    stock = type(_quietly(tf.feature_column.embedding_column)(item, 1))
    return [stock, *stock.__subclasses__()]


def _quietly(function: Any) -> Any:
    """Return a function of TensorFlow without its warning that it is deprecated."""
    return getattr(function, "__wrapped__", function)


def created(stock: Any, column: Any, state_manager: Any) -> Iterator[ColumnRows]:
    """Let a column create its rows in a layer, and yield each variable of them."""
    before = [*state_manager._layer.weights]
    stock(column, state_manager)
    for made in state_manager._layer.weights:
        if not any(made is one for one in before):
            rows_of_columns(state_manager)[column] = ColumnRows(made)
            yield rows_of_columns(state_manager)[column]


def rows_of_columns(state_manager: Any) -> dict[Any, ColumnRows]:
    """Return the rows that columns have created in a layer."""
    found: dict[Any, ColumnRows] = vars(state_manager).setdefault("watched_rows", {})
    return found
