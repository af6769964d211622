"""Intercepts embedding columns in layers of Keras 2, stock ones and those of the runtime."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
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


def creating(stock: Any, built: Callable[[Any], None]) -> Any:
    """Return a column's `create_state` that tells of the rows that a layer has created."""

    @functools.wraps(stock)
    def create_state(self: Any, state_manager: Any) -> None:
        before = [*state_manager._layer.weights]
        stock(self, state_manager)
        for made in state_manager._layer.weights:
            if not any(made is one for one in before):
                _known(state_manager)[self] = ColumnRows(made)
                built(_known(state_manager)[self])

    return create_state


def looking_up(stock: Any, seen: Callable[[Any, Any], None], inside: list[Any]) -> Any:
    """Return a column's lookup that tells of the rows of each example; reads of its variable are `inside` of it."""

    @functools.wraps(stock)
    def lookup(self: Any, sparse_tensors: Any, state_manager: Any) -> Any:
        inside.append(self)
        try:
            rows = stock(self, sparse_tensors, state_manager)
        finally:
            inside.pop()
        if tf.executing_eagerly() and self in _known(state_manager):
            seen(_known(state_manager)[self], rows)
        return rows

    return lookup


def _known(state_manager: Any) -> dict[Any, ColumnRows]:
    found: dict[Any, ColumnRows] = vars(state_manager).setdefault("watched_rows", {})
    return found
