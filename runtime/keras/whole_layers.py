"""Lets layers and functions of Keras save, export and look up the tables of whole variables."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _tf_private_keras
from runtime.keras.free_ids import OTHERS
from runtime.keras.whole_variable import WholeVariable


def adapt(keras: Any, replace: Callable[..., None]) -> None:
    """Adapt a Keras module by `replace(owner, name, adapted)`."""
    if hasattr(keras, "Variable"):
        replace(_tf_private_keras.arrays(keras), "take", _taking_rows)
        replace(keras.Variable, "_trackable_children", _with_rows)
        replace(keras.Variable, "_lookup_dependency", _finding_rows)
    replace(keras.layers.Embedding, "_trackable_children", _with_tables)
    replace(keras.layers.Embedding, "save_own_variables", _saving_others)
    replace(keras.layers.Embedding, "load_own_variables", _loading_others)
    replace(_tf_private_keras.export_archive(keras), "_filter_and_track_resources", _exporting_tables)


def tensorflow_variable(variable: Any) -> Any:
    """Return the TensorFlow variable of a Keras variable."""
    return variable if isinstance(variable, tf.Variable) else getattr(variable, "value", variable)


def _whole_variables(layer: Any) -> list[WholeVariable]:
    values = [tensorflow_variable(weight) for weight in getattr(layer, "weights", ())]
    return [value for value in values if isinstance(value, WholeVariable)]


def _tables_of(layer: Any) -> dict[str, Any]:
    """Return the tables of the whole variables of a layer, by names for a SavedModel."""
    return {f"_table_{number}": one.table for number, one in enumerate(_whole_variables(layer))}


def _saving_others(stock_save: Callable[..., Any]) -> Callable[..., Any]:
    """Let files of Keras have the rows that the matrix of an Embedding layer has not."""

    def save_own_variables(self: Any, store: Any) -> None:
        stock_save(self, store)
        for variable in _whole_variables(self):
            variable.save_others(store)

    return save_own_variables


def _loading_others(stock_load: Callable[..., Any]) -> Callable[..., Any]:
    def load_own_variables(self: Any, store: Any) -> None:
        variables = _whole_variables(self)
        if not variables:
            stock_load(self, store)
            return
        stock_load(self, {name: store[name] for name in store.keys() if name not in OTHERS})  # noqa: SIM118 - h5
        for variable in variables:
            variable.load_others(store)

    return load_own_variables


def _with_tables(stock_children: Callable[..., Any]) -> Callable[..., Any]:
    """Let a SavedModel have the tables of whole variables."""

    def trackable_children(self: Any, save_type: str = "checkpoint", **kwargs: Any) -> Any:
        children = stock_children(self, save_type, **kwargs)
        return {**children, **_tables_of(self)} if save_type == "savedmodel" else children

    return trackable_children


def _with_rows(stock_children: Callable[..., Any]) -> Callable[..., Any]:
    """Let checkpoints of variables of Keras 3 have the rows that the matrix has not."""

    def trackable_children(self: Any, save_type: str = "checkpoint", **kwargs: Any) -> Any:
        children, rows = stock_children(self, save_type, **kwargs), getattr(self, "_value", None)
        if save_type != "checkpoint" or not isinstance(rows, WholeVariable):
            return children
        return {**children, **rows._trackable_children(save_type, **kwargs)}

    return trackable_children


def _finding_rows(stock_lookup: Callable[..., Any]) -> Callable[..., Any]:
    def lookup_dependency(self: Any, name: str, *cached: Any, **more: Any) -> Any:
        rows = getattr(self, "_value", None)
        find = rows._lookup_dependency if isinstance(rows, WholeVariable) else functools.partial(stock_lookup, self)
        return find(name, *cached, **more)

    return lookup_dependency


def _exporting_tables(stock_track: Callable[..., Any]) -> Callable[..., Any]:
    """Let `Model.export` have the tables of whole variables, too."""

    def filter_and_track_resources(self: Any) -> Any:
        done = stock_track(self)
        for root in getattr(self, "_tracked", ()):
            getattr(self, "_tf_trackable", self)._misc_assets.extend(_tables_of(root).values())
        return done

    return filter_and_track_resources


def _taking_rows(stock_take: Callable[..., Any]) -> Callable[..., Any]:
    """Let `keras.ops.take` look rows up, where it would read a whole variable to gather from it."""

    def take(x: Any, indices: Any, axis: Any = None) -> Any:
        anchor = tensorflow_variable(x)
        if not isinstance(anchor, WholeVariable) or axis != 0 or isinstance(indices, tf.SparseTensor):
            return stock_take(x, indices, axis)
        ids = indices if isinstance(indices, tf.RaggedTensor) else tf.convert_to_tensor(indices)
        ids = tf.ragged.map_flat_values(lambda flat: tf.where(flat < 0, flat + anchor.shape[0], flat), ids)
        return x._maybe_autocast(anchor.sparse_read(ids)) if x is not anchor else anchor.sparse_read(ids)

    return take
