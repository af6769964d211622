"""What a program does with a variable that became a table after its graph was rewritten: fetches, feeds and new ops.

The program knows nothing of tables, so each of these reads the rows of the table, or sets them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE
from rewriter.apply.live import MOVED
from rewriter.checks.late_use_guard import replaced
from runtime.lookup.all_rows import all_rows
from runtime.table.create import tables
from runtime.table.table import Table

__all__ = ["LateUses"]

#: Ops that set a whole variable, and those that read one by its handle.
_SETS = ("Assign", "AssignVariableOp")
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")


class LateUses:
    """The later uses of the tables of one graph.

    An op that takes a variable itself takes a stand-in of the same shape, which has the rows before the op runs and
    gives them back afterwards: right whatever the op does, at the cost of the whole variable.
    """

    def __init__(self, graph: tf.Graph, gathered: dict[str, tf.Tensor]) -> None:
        """Take the graph, and the rows in the place of each gather that cannot be fetched any more, by its op."""
        self._graph, self._gathered = graph, gathered
        self._stand_ins: dict[tuple[str, tf.DType], tf.Tensor] = {}

    def fetched(self, element: Any) -> Any:
        """Return what a session fetches in the place of a tensor or op."""
        if not isinstance(element, tf.Tensor) or element.dtype == tf.resource:
            return element
        table = self._table(element)
        return self._gathered.get(element.op.name, element) if table is None else table.variable.stands_for.rows

    def sources(self, tensor: tf.Tensor) -> list[tf.Tensor]:
        """Return what has gradients in the place of a tensor: of a variable, the anchor and what later ops read."""
        table = self._table(tensor)
        if table is None:
            return [tensor]
        stand_in = self._stand_ins.get((table.table_name, tf.resource))
        return [table.variable.handle, *([] if stand_in is None else [stand_in])]

    def gradient(self, tensor: tf.Tensor, found: list[Any]) -> Any:
        """Return the gradient of a tensor, given those of its sources."""
        table, parts = self._table(tensor), [one for one in found if one is not None]
        if table is None or not parts:
            return found[0]
        shape = table.variable.stands_for.shape
        slices = [one if isinstance(one, tf.IndexedSlices) else _all(one) for one in parts]
        values = tf.concat([tf.reshape(one.values, [-1, *shape[1:]]) for one in slices], 0)
        indices = tf.concat([tf.cast(one.indices, tf.int64) for one in slices], 0)
        return tf.IndexedSlices(values, indices, tf.constant(shape, tf.int64))

    def require_unfed(self, feeds: Iterable[Any], edited: set[str]) -> None:
        """Raise ValueError if a fed tensor is a variable that became a table and had readers, the tensors `edited`."""
        for fed in feeds:
            name = fed if isinstance(fed, str) else getattr(fed, "name", "")
            tensor = self._graph.get_tensor_by_name(name) if ":" in name and name in edited else None
            known = None if tensor is None else replaced(tensor)
            if known is not None:
                raise ValueError(
                    f"the value of `{known[0]}` is fed, which has become a table: assign it, or leave the variable out "
                    "by tables=[...]"
                )

    def served(self, kind: str, tensors: list[tf.Tensor]) -> _tf_private.Seen | None:
        """Return how a new op of this type and with these inputs uses tables; None if it cannot."""
        given, waits, written = list(tensors), list[tf.Operation](), list[tuple[Table, tf.Tensor]]()
        for place, tensor in enumerate(tensors):
            if replaced(tensor) is None:
                continue
            table = self._table(tensor)
            if table is None:
                return None
            if tensor.dtype != tf.resource and not _tf_private.takes_reference(kind, place):
                given[place] = _rows(table)
                continue
            given[place] = self._stand_in(table, tensor)
            if kind not in _SETS:
                waits.append(_set(given[place], _rows(table)))
            if kind not in _READS:
                written.append((table, given[place]))
        return _tf_private.Seen(given, waits, lambda op: _given_back(op, written))

    def _table(self, tensor: tf.Tensor) -> Table | None:
        variable, name = replaced(tensor) or ("", "")
        found = (one for one in tables(self._graph) if one.table_name == name == variable)
        return next((one for one in found if one.variable.stands_for is not None), None)

    def _stand_in(self, table: Table, tensor: tf.Tensor) -> tf.Tensor:
        """Return a variable of the kind of the one that became a table, which only ops from `served` use."""
        key = table.table_name, tensor.dtype
        if key not in self._stand_ins:
            name, shape = f"{SCOPE}{table.table_name}/late", list(table.variable.stands_for.shape)
            with tf.control_dependencies(None), tf.device(None), tf.name_scope(f"{name}/"):
                make: Callable[..., tf.Tensor] = (
                    tf.raw_ops.VarHandleOp if tensor.dtype == tf.resource else tf.raw_ops.VariableV2
                )
                self._stand_ins[key] = made = make(dtype=tf.float32, shape=shape, shared_name=name)
                MOVED.setdefault(self._graph, []).append(made.op.name)
        return self._stand_ins[key]


def _all(gradient: tf.Tensor) -> tf.IndexedSlices:
    return tf.IndexedSlices(gradient, tf.range(tf.shape(gradient)[0]))


def _rows(table: Table) -> tf.Tensor:
    """Build a read of all rows, in the shape of the variable that the table replaced; gradients go to each."""
    shape = table.variable.stands_for.shape
    return tf.reshape(all_rows(table, shape[0], trainable=table.trainable), shape)


def _given_back(op: tf.Operation, written: list[tuple[Table, tf.Tensor]]) -> tf.Operation:
    """Return an op in the place of one that has written stand-ins: it also gives the tables their rows."""
    if not written:
        return op
    with tf.control_dependencies([op]):
        sets = [table.variable.assign(_value(stand_in)) for table, stand_in in written]
    with tf.control_dependencies(sets):
        return tf.raw_ops.RefIdentity(input=written[0][1]).op if op.outputs else tf.no_op()


def _value(stand_in: tf.Tensor) -> tf.Tensor:
    if stand_in.dtype == tf.resource:
        return tf.raw_ops.ReadVariableOp(resource=stand_in, dtype=tf.float32)
    return tf.identity(stand_in)


def _set(stand_in: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
    if stand_in.dtype == tf.resource:
        return tf.raw_ops.AssignVariableOp(resource=stand_in, value=rows)
    return tf.raw_ops.Assign(ref=stand_in, value=rows).op
