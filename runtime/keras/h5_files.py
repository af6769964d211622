"""Tables in the `.h5` files of Keras 2: a matrix as the stock layer has it, and beside it the rows with their slots.

The stock layer reads and writes row i for id i. So does a table whose ids are all below `input_dim`; otherwise its
matrix has no rows, and the stock layer refuses the file. The rows lie in a group that Keras does not look at.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.keras.stock_files import StockMatrix
from runtime.keras.stored_rows import load_rows, require_rows, save_rows
from runtime.keras.whole_variable import WholeVariable
from runtime.lookup.all_rows import all_rows
from runtime.table.eager_anchor import EagerAnchor

_GROUP = "recmigrate"
#: A table with fewer rows than its matrix, by this factor and more than so many, has no matrix in the file.
_SPARSE, _SMALL = 8, 1 << 20


class _AnyRows(tuple[int, ...]):
    """The shape of a table's weight: equal to that of a matrix of any number of rows."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and len(other) == len(self) and other[1:] == self[1:]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[1:])


class _Weight:
    """Stands for the weight of a table while a file is written or read."""

    dtype = tf.float32

    def __init__(self, anchor: EagerAnchor) -> None:
        self.anchor, self.name = anchor, anchor.name
        rank = getattr(anchor, "rank", 2)
        self.shape = _AnyRows((0, anchor.table.dim)[:rank])

    def numpy(self) -> Any:
        """Return the matrix, or one without rows where it cannot stand for the table."""
        table = self.anchor.table
        size, keys = table.arguments.device_vocabulary_size, table.snapshot()[0].numpy()
        whole = size <= max(_SMALL, _SPARSE * len(keys)) and bool(((keys >= 0) & (keys < size)).all())
        rows = all_rows(table, size).numpy() if whole else np.zeros([0, table.dim], np.float32)
        return rows[:, 0] if len(self.shape) == 1 else rows

    def assign(self, matrix: Any) -> None:
        """Take the rows of the file that is read, or the matrix of one of the stock layer.

        Raises:
            ValueError: the file has neither.
        """
        table = self.anchor.table
        if id(self.anchor) in _reading:
            load_rows(table, *_reading[id(self.anchor)])
        elif len(matrix):
            stock = self.anchor.stock or StockMatrix(table)
            stock.put(matrix[:, None] if len(self.shape) == 1 else matrix)
        else:
            require_rows(table.table_name, {})


#: While a file is read: where it has the rows of each table, by the `id` of the anchor: a group, and their prefix.
_reading: dict[int, tuple[Any, str]] = {}


def adapt(keras: Any) -> None:
    """Let `save_weights`, `load_weights` and `save` of Keras 2 write and read tables as `.h5`; idempotent."""
    package = keras.Model.__module__.partition(".")[0]
    files: Any = importlib.import_module(f"{package}.src.saving.legacy.hdf5_format")
    stock: Any = files.save_subset_weights_to_hdf5_group
    if not hasattr(stock, "adapts_tables"):
        weights = files._legacy_weights
        files._legacy_weights = lambda layer: _stand_ins(weights(layer))
        files.save_subset_weights_to_hdf5_group = _saving(stock)
        files.load_weights_from_hdf5_group = _loading(files, files.load_weights_from_hdf5_group, False)
        files.load_weights_from_hdf5_group_by_name = _loading(files, files.load_weights_from_hdf5_group_by_name, True)


def _stand_ins(weights: Iterable[Any]) -> list[Any]:
    return [_Weight(one) if isinstance(one, EagerAnchor) and not one.whole else one for one in weights]


def _saving(stock: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(stock)
    def save_subset_weights_to_hdf5_group(group: Any, weights: Iterable[Any]) -> None:
        stand_ins = _stand_ins(weights)
        stock(group, stand_ins)
        for number, weight in enumerate(stand_ins):
            if isinstance(weight, _Weight):
                save_rows(weight.anchor.table, group.require_group(_GROUP), f"{number}_")
            elif isinstance(weight, WholeVariable) and not weight.all_in_matrix:
                weight.save_others(group.require_group(_GROUP), f"{number}_")

    save_subset_weights_to_hdf5_group.adapts_tables = True  # type: ignore[attr-defined]
    return save_subset_weights_to_hdf5_group


def _loading(files: Any, stock: Callable[..., None], by_name: bool) -> Callable[..., None]:
    @functools.wraps(stock)
    def load_weights_from_hdf5_group(file: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        lists = [model._trainable_weights, model._non_trainable_weights]
        kept = [list(one) for one in lists]
        for weights_of_kind in lists:
            weights_of_kind[:] = _stand_ins(weights_of_kind)
        try:
            for group, weights in _groups(files, file, model, by_name):
                for number, weight in enumerate(weights):
                    if isinstance(weight, _Weight) and f"{_GROUP}/{number}_keys" in group:
                        _reading[id(weight.anchor)] = (group[_GROUP], f"{number}_")
            stock(file, model, *args, **kwargs)
            for group, weights in _groups(files, file, model, by_name):
                for number, weight in enumerate(weights):
                    if isinstance(weight, WholeVariable) and _GROUP in group:
                        weight.load_others(group[_GROUP], f"{number}_")
        finally:
            _reading.clear()
            for weights_of_kind, before in zip(lists, kept, strict=True):
                weights_of_kind[:] = before

    return load_weights_from_hdf5_group


def _groups(files: Any, file: Any, model: Any, by_name: bool) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the groups of a file, each with the weights that Keras reads from it."""
    weights_of, names_in = files._legacy_weights, files.load_attributes_from_hdf5_group
    names = [name for name in names_in(file, "layer_names") if names_in(file[name], "weight_names")]
    layers = [layer for layer in model.layers if weights_of(layer)]
    if by_name:
        layers = [layer for layer in layers if layer.name in names]
        names = [layer.name for layer in layers]
    yield from ((file[name], weights_of(layer)) for name, layer in zip(names, layers, strict=False))
    if "top_level_model_weights" in file:
        yield file["top_level_model_weights"], model._trainable_weights + model._non_trainable_weights
