"""What an optimizer has learned, as arrays by weight and slot: to go on where another program stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.checkpoint.live_tables import replace_rows, snapshot_rows
from runtime.checkpoint.rows import TableRows, optimizer_kind
from runtime.native.base_keys import FIRST_BASE_KEY, are_base_keys
from runtime.nn.layer import Layer
from runtime.nn.optimizer.base import Optimizer, TableRule
from runtime.nn.weights.table_weight import TableWeight

v1 = tf.compat.v1
Array = NDArray[Any]
#: (path of a weight, slot) -> values; a slot has the name that it has for a variable: `moment1`, `velocity`, …
Slots = dict[tuple[str, str], Array]
_FORMAT = 2
#: Rule of a table -> names of its slots, in the order of a row.
_NAMES = {
    "sgd": (),
    "adagrad": ("moment",),
    "lazy_adam": ("moment1", "moment2"),
    "adam": ("moment1", "moment2"),
    "adam_scaled": ("moment1", "moment2"),
    "keras_momentum": ("velocity",),
}


class _Trained(NamedTuple):
    """A table, with the names of its slots."""

    path: str
    weight: TableWeight
    rule: TableRule
    names: tuple[str, ...]


def read_slots(optimizer: Optimizer, model: Layer, session: Any) -> Slots:
    """Return the slots of all weights that the optimizer trains in the session's graph.

    A table's are those of the ids 0 to `num_embeddings - 1`; an id without a row has what a row begins with.

    Raises:
        ValueError: a table has a row of an id beyond.
    """
    slots: Slots = session.run(_variables(optimizer, model))
    for trained in _tables(optimizer, model):
        rows = snapshot_rows(trained.weight.table, session)
        count, places = trained.weight.declared_shape[0], _places(trained, rows.keys)
        beyond = places[(places < 0) | (places >= count)]
        if len(beyond):
            raise ValueError(
                f"the table `{trained.path}` has a row of the id {beyond[0]}, but the largest id of the model's "
                f"embedding is {count - 1}: give the embedding as many num_embeddings as there are ids"
            )
        slots |= {(trained.path, name): values for name, values in _matrices(trained, rows, places).items()}
    return slots


def _matrices(trained: _Trained, rows: TableRows, places: Array) -> dict[str, Array]:
    """Return the slots of a table as matrices; `places` says which row of them each of its rows is, if any."""
    matrices: dict[str, Array] = {}
    inside = (places >= 0) & (places < trained.weight.declared_shape[0])
    for number, (name, start) in enumerate(zip(trained.names, trained.rule.starts, strict=True)):
        values = np.full(trained.weight.declared_shape, start, np.float32)
        if rows.slot_count:  # else no row was updated yet
            values[places[inside]] = rows.slot(number)[inside]
        matrices[name] = values * np.float32(1 / trained.rule.unit)
    return matrices


def load_slots(optimizer: Optimizer, model: Layer, slots: Mapping[tuple[str, str], Any], session: Any) -> list[str]:
    """Set slots in an initialized session, after `load_weights`; return the paths of weights for which none is given.

    Raises:
        ValueError: the optimizer keeps no such slot, a weight has only some of its slots, or a shape is another one.
    """
    variables, tables = _variables(optimizer, model), _tables(optimizer, model)
    shapes = {key: tuple(variable.shape.as_list()) for key, variable in variables.items()}
    shapes |= {(one.path, name): one.weight.declared_shape for one in tables for name in one.names}
    checked = _checked(type(optimizer).__name__, shapes, slots)
    starts = [variables[key].initializer for key in checked if key in variables]
    values = [value for key, value in checked.items() if key in variables]
    session.run(starts, {op.inputs[1]: value for op, value in zip(starts, values, strict=True)})
    for trained in tables:
        if trained.names and (trained.path, trained.names[0]) in checked:
            scaled = [checked[trained.path, name] * np.float32(trained.rule.unit) for name in trained.names]
            _replace(trained, scaled, session)
    return sorted({path for path, _ in shapes} - {path for path, _ in checked})


def _places(trained: _Trained, keys: Array) -> Array:
    """Return which row of the matrix each key is.

    Raises:
        ValueError: an id that gave up its bucket has a row of its own.
    """
    if trained.weight.rules.buckets is None:
        return keys
    own = keys[~are_base_keys(keys)]
    if len(own):
        raise ValueError(
            f"{len(own)} ids of the table `{trained.path}` have rows of their own, in place of buckets, which do not "
            "fit into a matrix: give a checkpoint from before training without buckets"
        )
    return np.asarray(keys - FIRST_BASE_KEY)


def _paths(model: Layer) -> dict[int, str]:
    return {id(weight): path for path, weight in model.named_weights()}


def _variables(optimizer: Optimizer, model: Layer) -> dict[tuple[str, str], Any]:
    paths = _paths(model)
    return {(paths[key], name): one for (key, name), one in optimizer.slots().items() if key in paths}


def _tables(optimizer: Optimizer, model: Layer) -> list[_Trained]:
    paths = _paths(model)
    return [
        _Trained(paths[id(weight)], weight, rule, _NAMES[rule.rule])
        for weight, rule in optimizer.rules()
        if id(weight) in paths
    ]


def _checked(
    kind: str, shapes: Mapping[tuple[str, str], tuple[int, ...]], slots: Mapping[tuple[str, str], Any]
) -> Slots:
    checked: Slots = {}
    for (path, name), value in slots.items():
        shape = shapes.get((path, name))
        if shape is None:
            kept = ", ".join(slot for of, slot in shapes if of == path) or "nothing"
            raise ValueError(
                f"{kind} keeps no `{name}` of the weight `{path}`, but {kept}: create the optimizer to "
                "which these slots belong"
            )
        array = np.asarray(value, np.float32)
        if array.shape != shape and not (array.size == 1 and shape == ()):
            raise ValueError(
                f"the slot `{name}` of the weight `{path}` has shape {list(shape)}, but its values have shape "
                f"{list(array.shape)}: create the model with the sizes of the saved values"
            )
        checked[path, name] = array.reshape(shape)
    begun = {path for path, _ in checked}
    for path, name in shapes:
        if path in begun and (path, name) not in checked:
            raise ValueError(f"there are no values for the slot `{name}` of the weight `{path}`: give all of its slots")
    return checked


def table_slots(weight: TableWeight, rule: TableRule) -> dict[str, Array]:
    """In eager code, return the slots of the rows of the ids below `num_embeddings`, or of buckets, as matrices."""
    rows = snapshot_rows(weight.table)
    first = 0 if weight.rules.buckets is None else FIRST_BASE_KEY
    return _matrices(_Trained(weight.label, weight, rule, _NAMES[rule.rule]), rows, np.asarray(rows.keys - first))


def load_table_slots(weight: TableWeight, rule: TableRule, slots: Mapping[str, Any]) -> None:
    """In eager code, give the rows of the ids below `num_embeddings` their slots, given as Paddle's matrices.

    Raises:
        ValueError: some of the slots are missing.
    """
    trained = _Trained(weight.label, weight, rule, _NAMES[rule.rule])
    missing = [name for name in trained.names if name not in slots]
    if missing:
        raise ValueError(
            f"there are no values for the slot `{missing[0]}` of the weight `{trained.path}`: give all of them"
        )
    if weight.rules.buckets is None:  # else all rows of buckets are there
        ids = tf.range(weight.declared_shape[0], dtype=tf.int64)
        weight.table.import_rows(ids, weight.rows(ids, training=False))
    _replace(trained, [np.asarray(slots[name]) * np.float32(rule.unit) for name in trained.names], None)


def _replace(trained: _Trained, slots: list[Array], session: Any) -> None:
    """Give the rows of a table their slots."""
    table = trained.weight.table
    rows = snapshot_rows(table, session)
    starts = np.array(trained.rule.starts, np.float32).view(np.uint32).astype(np.int64)
    kind = optimizer_kind(trained.rule.rule)
    meta = np.array([_FORMAT, table.seed, table.dim, len(slots), kind, *starts], np.int64)
    places = _places(trained, rows.keys)  # where ids gave up their buckets, a table takes all of these as its base
    inside = (places >= 0) & (places < trained.weight.declared_shape[0])
    whole = np.repeat(np.array(trained.rule.starts, np.float32), table.dim)[None].repeat(len(places), 0)
    whole[inside] = np.concatenate([slot[places[inside]] for slot in slots], 1)
    new = (places, rows.values, whole, meta)
    if table.graph is None:
        replace_rows(table, [tf.constant(part) for part in new])
        return
    with tf.control_dependencies(None):
        fed = [v1.placeholder(part.dtype, [None] * part.ndim) for part in new]
        write = replace_rows(table, fed)
    session.run(write, dict(zip(fed, new, strict=True)))
