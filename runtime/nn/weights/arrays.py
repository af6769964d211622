"""Weights of a model as arrays by path: to load what Paddle saved, and to read it back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import native
from runtime.native.base_keys import FIRST_BASE_KEY
from runtime.nn.layer import Layer
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Weight
from runtime.ranks.process_group import refuse_several
from runtime.table.table import Table

Array = NDArray[Any]
v1 = tf.compat.v1
#: Values of a table that are handed over at once.
_BLOCK = 1 << 22


class _Rows(NamedTuple):
    """Ops by which rows of a table get in and out."""

    keys: tf.Tensor
    values: tf.Tensor
    write: tf.Operation
    read: tf.Tensor


_rows: WeakKeyDictionary[Table, _Rows] = WeakKeyDictionary()


def load_weights(model: Layer, arrays: Mapping[str, Any], session: Any) -> None:
    """Set all weights of a built model, embeddings included, in an initialized session.

    Args:
        model: built in the graph of the session.
        arrays: path -> array, as `state_dict` of the Paddle model has them.
        session: a v1 session.

    Raises:
        ValueError: a path is missing or unknown, a shape is another one, or the model is not built.
    """
    weights = model.state_dict()
    _check_paths(weights, arrays)
    values = {path: _checked(path, weight, arrays[path]) for path, weight in weights.items() if path in arrays}
    dense = [
        (weights[path].variable.initializer, value) for path, value in values.items() if not weights[path].is_table
    ]
    session.run([op for op, _ in dense], {op.inputs[1]: value for op, value in dense})
    for path, value in values.items():
        weight = weights[path]
        if isinstance(weight, TableWeight):
            write_rows(weight, value, session)


def read_weights(model: Layer, session: Any) -> dict[str, Array]:
    """Return path -> array of all weights of a built model, as Paddle's `state_dict` has them.

    Of an embedding that is a table, these are the rows of the ids 0 to `num_embeddings - 1`; those that were never
    trained are what they begin with, and stay out of the table.

    Raises:
        ValueError: the model is not built.
    """
    weights = model.state_dict()
    dense = {path: weight.variable for path, weight in weights.items() if _built(path, weight) and not weight.is_table}
    arrays: dict[str, Array] = session.run(dense)
    for path, weight in weights.items():
        if isinstance(weight, TableWeight):
            arrays[path] = read_rows(weight, weight.declared_shape[0], session)
    return {path: arrays[path] for path in weights}


def write_rows(weight: TableWeight, rows: Array, session: Any) -> None:
    """Set the rows of the ids 0 to n - 1, or of so many buckets, [n, dim]; that of the padding is zero."""
    ops, rows = _ops(weight.table), _padded(weight, rows)
    for keys in _blocks(weight, len(rows)):
        places = keys + FIRST_BASE_KEY if weight.rules.buckets is not None else keys
        session.run(ops.write, {ops.keys: places, ops.values: rows[keys]})


def read_rows(weight: TableWeight, count: int, session: Any) -> Array:
    """Return the rows of the ids 0 to `count` - 1, [count, dim], or what they begin with; nothing is inserted."""
    ops = _ops(weight.table)
    parts = [session.run(ops.read, {ops.keys: keys}) for keys in _blocks(weight, count)]
    return _padded(weight, np.concatenate(parts))


def _check_paths(weights: Mapping[str, Weight], arrays: Mapping[str, Any]) -> None:
    unknown = [path for path in arrays if path not in weights]
    if unknown:
        raise ValueError(
            f"the model has no weight `{unknown[0]}`: leave out such values, or load them into the model that "
            f"has these weights (this one has {', '.join(weights)})"
        )
    covered = {id(weights[path]) for path in arrays}
    missing = [path for path, weight in weights.items() if id(weight) not in covered]
    if missing:
        raise ValueError(f"there are no values for the weight `{missing[0]}`: give all of the model's weights")


def _checked(path: str, weight: Weight, value: Any) -> Array:
    _built(path, weight)
    array: Array = np.asarray(value, weight.dtype.as_numpy_dtype)
    if array.shape != weight.declared_shape:
        raise ValueError(
            f"the weight `{path}` has shape {list(weight.declared_shape)}, but its values have shape "
            f"{list(array.shape)}: create the model with the sizes of the saved values"
        )
    return array


def _built(path: str, weight: Weight) -> bool:
    if not weight.built:
        raise ValueError(f"the weight `{path}` is not in a graph yet: call build of the model first")
    return True


def _padded(weight: TableWeight, rows: Array) -> Array:
    if weight.padding is None:
        return rows
    return np.where((np.arange(len(rows)) == weight.padding)[:, np.newaxis], np.float32(0), rows)


def _blocks(weight: TableWeight, rows: int) -> list[Array]:
    size = max(1, _BLOCK // weight.declared_shape[1])
    return [np.arange(start, min(start + size, rows)) for start in range(0, rows, size)]


def _ops(table: Table) -> _Rows:
    """Return the ops of a table, created at the first call; reading is no lookup, so that updates do not wait for it.

    Raises:
        RanksError: there are several ranks, each with some of the rows.
    """
    refuse_several(table.table_name, "is loaded or read as a whole")
    if table not in _rows:
        with table.scope("weights"), tf.control_dependencies(None):
            keys = v1.placeholder(tf.int64, [None], "keys")
            values = v1.placeholder(tf.float32, [None, table.dim], "values")
            read = native.ops().rec_lookup(table.handle, table.variable.tensor(), keys, [])
            _rows[table] = _Rows(keys, values, table.import_rows(keys, values), read)
    return _rows[table]
