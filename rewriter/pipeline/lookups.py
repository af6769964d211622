"""Lists the ids that tables of a live graph look up: which may move to datasets, and why others may not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tensorflow as tf

from rewriter import _tf_private
from rewriter.pipeline.cones import ENTRANCES
from rewriter.pipeline.facts import IdsOf, Staying
from runtime import ranks
from runtime.table.create import tables as runtime_tables
from runtime.table.table import Table

_NOT_PERMITTED = "the lookup does not have modify_graph=True, which allows to move its ids"
_EXCHANGED = "they are exchanged between several ranks"
_INSERTING = ("OrInsert", "AndAdmit", "Expand", "LookupPlaces")


@dataclass(frozen=True)
class Reading:
    """A lookup of a table, as seen from the main graph.

    A lookup inside a function, such as a branch of a tf.cond on a tensor `is_train`, is represented by the op that
    calls the function with the ids; `ids.input` is -1 if the ids are computed inside.
    """

    ids: IdsOf
    movable: bool
    trains: bool


def readings(graph: tf.Graph) -> Iterator[Reading]:
    """Yield the lookups of the graph's tables, in graph order."""
    for table in runtime_tables(graph):
        for op in (*table.lookups, *table.inner_lookups):
            trains = any(part in op.type for part in _INSERTING)
            for number in _keys(table, op):
                yield Reading(_seen_outside(graph, table, op, number), op in table.movable, trains)


def lookups_of(graph: tf.Graph) -> tuple[list[IdsOf], list[Staying]]:
    """Return the ids that may move, in graph order, and those that must stay wherever they come from."""
    may: dict[tuple[str, int], IdsOf] = {}
    staying: dict[tuple[str, int], Staying] = {}
    for reading in readings(graph):
        ids = reading.ids
        if not reading.movable:
            staying.setdefault((ids.op, ids.input), Staying(ids, _EXCHANGED if ranks.size() > 1 else _NOT_PERMITTED))
        elif ids.input < 0:
            staying.setdefault((ids.op, ids.input), Staying(ids, "they are computed inside of a function"))
        else:
            may.setdefault((ids.op, ids.input), ids)
    return [ids for place, ids in may.items() if place not in staying], list(staying.values())


def _keys(table: Table, op: tf.Operation) -> Iterator[int]:
    """Yield the input positions of `op` with ids of this table; a grouped lookup has ids of several tables."""
    handles = _tf_private.inputs_called(op, "handle") or _tf_private.inputs_called(op, "handles")
    for handle, keys in zip(handles, _tf_private.inputs_called(op, "keys"), strict=True):
        if _is(op.inputs[handle], table.handle):
            yield keys


def _is(tensor: tf.Tensor, outside: tf.Tensor) -> bool:
    """Whether a tensor, perhaps inside of functions and branches, is this tensor of the main graph."""
    captured = _tf_private.captured_from(tensor, outside.graph)
    while captured is not None and captured.op.type in ENTRANCES:
        captured = captured.op.inputs[0]
    return captured is outside


def _seen_outside(graph: tf.Graph, table: Table, op: tf.Operation, number: int) -> IdsOf:
    tensor = op.inputs[number]
    while op.graph is not graph and tensor.op.type in ("Cast", "Identity"):
        tensor = tensor.op.inputs[0]
    inserts = "OrInsert" in op.type and tensor.dtype == tf.int64
    tiered = table.instance if table.tiered else ""
    if op.graph is graph:
        return IdsOf(table.table_name, op.name, number, inserts, tiered)
    outside = _tf_private.captured_from(tensor, graph)
    for user in outside.consumers() if outside is not None else ():
        if _tf_private.calls(user, op.graph):
            place = next(i for i, one in enumerate(user.inputs) if one is outside)
            return IdsOf(table.table_name, user.name, place, inserts, tiered)
    return IdsOf(table.table_name, f"{op.graph.name}/{op.name}", -1)
