"""What a program does with a variable that became a table after its graph was rewritten: fetches, feeds and new ops.

The program knows nothing of tables, so each of these reads the rows of the table, or sets them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE
from rewriter.apply.fetched import gathered_rows
from rewriter.apply.live import MOVED
from rewriter.apply.partitions import row_keys
from rewriter.checks.late_use_guard import replaced
from rewriter.facts import Table
from rewriter.plan.plan import Plan
from runtime import sparse_lookup
from runtime._tf_private import SaveableObject, SaveSpec
from runtime.checkpoint.presence import tables_in
from runtime.checkpoint.stock_variable import StockVariable
from runtime.lookup.all_rows import rows_in_place
from runtime.table.create import tables
from runtime.table.table import Table as RuntimeTable

__all__ = ["LateUses"]

#: Ops that set a whole variable, and those that read one by its handle.
_SETS = ("Assign", "AssignVariableOp")
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")


class LateUses:
    """The later uses of the tables of one graph.

    An op that takes a variable itself takes a stand-in of the same shape, which has the rows before the op runs and
    gives them back afterwards: right whatever the op does, at the cost of the whole variable.
    """

    def __init__(self, graph: tf.Graph, plan: Plan) -> None:
        """Take the graph, which was rewritten by the plan."""
        self._graph, self._gathered = graph, gathered_rows(graph)
        made = {one.table_name: one for one in tables(graph)}
        self._variables = {
            part.name: _Variable(made[table.name], table, number)
            for table in plan.tables
            for number, part in enumerate(table.pieces)
        }
        self._slots = {
            slot: _Slot(made[table.name], table, number)
            for table in plan.tables
            if len(table.pieces) == len(table.optimizers) == 1
            for number, slot in enumerate(table.slots)
        }
        self._edited = {edit.old for edit in plan.inputs}
        self._stand_ins: dict[tuple[str, tf.DType], tf.Tensor] = {}
        self._fetched: dict[str, tf.Tensor] = {}

    def fetched(self, element: Any) -> Any:
        """Return what a session fetches in the place of a tensor or op."""
        known = replaced(element) if isinstance(element, tf.Tensor) and element.dtype != tf.resource else None
        if known is None:
            return self._gathered.get(element.op.name, element) if isinstance(element, tf.Tensor) else element
        whole = self._variables.get(known[0]) or self._slots.get(known[0])
        if whole is None or (self._graph.finalized and known[0] not in self._fetched and whole.rows is None):
            return element
        if known[0] not in self._fetched:
            with self._graph.as_default(), tf.control_dependencies(None), tf.device(None):
                self._fetched[known[0]] = whole.read() if whole.rows is None else whole.rows
        return self._fetched[known[0]]

    def sources(self, tensor: tf.Tensor) -> list[tf.Tensor]:
        """Return what has gradients in the place of a tensor: of a variable, the anchor and what later ops read."""
        whole = self._of(tensor)
        if whole is None or len(whole.table.pieces) > 1:
            return [tensor]
        stand_in = self._stand_ins.get((whole.name, tf.resource))
        return [whole.made.variable.handle, *([] if stand_in is None else [stand_in])]

    def gradient(self, tensor: tf.Tensor, found: list[Any]) -> Any:
        """Return the gradient of a tensor, given those of its sources."""
        whole, parts = self._of(tensor), [one for one in found if one is not None]
        if whole is None or len(whole.table.pieces) > 1 or not parts:
            return found[0]
        slices = [one if isinstance(one, tf.IndexedSlices) else _all(one) for one in parts]
        values = tf.concat([tf.reshape(one.values, [-1, *whole.shape[1:]]) for one in slices], 0)
        indices = tf.concat([tf.cast(one.indices, tf.int64) for one in slices], 0)
        return tf.IndexedSlices(values, indices, tf.constant(whole.shape, tf.int64))

    def saves(self, variable: tf.Variable) -> bool:
        """Whether a Saver can take the rows of a table in the place of a variable."""
        whole = self._variables.get(variable.op.name)
        return whole is not None and len(whole.table.pieces) == 1

    def saveable(self, variable: tf.Variable, name: str) -> _SavedRows:
        """Return what saves and restores a variable that became a table as `name`."""
        return _SavedRows(self._variables[variable.op.name], variable.op, name)

    def require_unfed(self, feeds: Iterable[Any]) -> None:
        """Raise ValueError if a fed tensor is, or reads, a variable that became a table, in whose place ops read it."""
        for fed in feeds:
            name = fed if isinstance(fed, str) else getattr(fed, "name", "")
            known = replaced(self._graph.get_tensor_by_name(name)) if name in self._edited else None
            if known is not None:
                raise ValueError(
                    f"the value of `{known[0]}` is fed, which has become a table: assign it, or leave the variable out "
                    "by tables=[...]"
                )

    def served(self, kind: str, tensors: list[tf.Tensor]) -> _tf_private.Seen | None:
        """Return how a new op of this type and with these inputs uses tables; None if it cannot."""
        given, waits, written = list(tensors), list[tf.Operation](), list[tuple[_Variable, tf.Tensor]]()
        for place, tensor in enumerate(tensors):
            if replaced(tensor) is None:
                continue
            whole = self._of(tensor)
            if whole is None:
                return None
            if tensor.dtype != tf.resource and not _tf_private.takes_reference(kind, place):
                given[place] = whole.read(trains=True)
                continue
            given[place] = self._stand_in(whole, tensor)
            if kind not in _SETS:
                waits.append(_set(given[place], whole.read()))
            if kind not in _READS:
                written.append((whole, given[place]))
        return _tf_private.Seen(given, waits, lambda op: _given_back(op, written))

    def _of(self, tensor: tf.Tensor) -> _Variable | None:
        return self._variables.get((replaced(tensor) or ("",))[0])

    def _stand_in(self, whole: _Variable, tensor: tf.Tensor) -> tf.Tensor:
        """Return a variable of the kind of the one that became a table, which only ops from `served` use."""
        key = whole.name, tensor.dtype
        if key not in self._stand_ins:
            name = f"{SCOPE}{whole.name}/late"
            make: Callable[..., tf.Tensor] = (
                tf.raw_ops.VarHandleOp if tensor.dtype == tf.resource else tf.raw_ops.VariableV2
            )
            with tf.control_dependencies(None), tf.device(None), tf.name_scope(f"{name}/"):
                self._stand_ins[key] = made = make(dtype=tf.float32, shape=list(whole.shape), shared_name=name)
                MOVED.setdefault(self._graph, []).append(made.op.name)
        return self._stand_ins[key]


@dataclass(frozen=True)
class _Variable:
    """A variable, or a part of a partitioned one, whose rows are in a table."""

    made: RuntimeTable
    table: Table
    part: int

    @property
    def name(self) -> str:
        return self.table.pieces[self.part].name

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.table.pieces[self.part].rows, *self.table.row)

    @property
    def rows(self) -> tf.Tensor | None:
        """The rows, where the rewrite has built a read of them."""
        stands_for = self.made.variable.stands_for
        return stands_for.rows if len(self.table.pieces) == 1 and stands_for is not None else None

    def read(self, trains: bool = False) -> tf.Tensor:
        """Build a read of the rows; if it `trains`, gradients go to each of them."""
        keys = row_keys(self.table, self.part)
        with tf.device("/device:CPU:0"):
            found = sparse_lookup(self.made, keys) if trains else rows_in_place(self.made, keys)
        return tf.reshape(found, self.shape)

    def assign(self, value: tf.Tensor) -> tf.Operation:
        """Build what sets the rows."""
        rows = tf.reshape(value, [self.shape[0], self.made.dim])
        return self.made.variable.set_rows(row_keys(self.table, self.part), rows)


class _SavedRows(SaveableObject):  # type: ignore[misc]
    """Saves the rows of a table as the variable that it replaced, and restores them from that or from a table.

    As with a Saver of the variable alone, slots stay as they are.
    """

    def __init__(self, whole: _Variable, op: tf.Operation, name: str) -> None:
        with tf.control_dependencies(None):
            rows = whole.read()
        super().__init__(op, [SaveSpec(rows, "", name)], name)
        self._whole = whole

    def read_all(self, prefix: tf.Tensor) -> list[tf.Tensor]:
        """Return the variable's value in a checkpoint."""
        stock = StockVariable(self._whole.made, self._whole.shape, None, ())
        (is_table,) = tables_in(prefix, [self.name])
        _, keys, values, *_ = stock.read(prefix, is_table, [self.name], ())
        keys = tf.ensure_shape(keys, [None])
        known = tf.boolean_mask(tf.range(tf.size(keys)), (keys >= 0) & (keys < self._whole.shape[0]))
        begun = tf.zeros([self._whole.shape[0], self._whole.made.dim])
        rows = tf.tensor_scatter_nd_update(begun, tf.gather(keys, known)[:, tf.newaxis], tf.gather(values, known))
        return [tf.reshape(rows, self._whole.shape)]

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: Any) -> tf.Operation:
        """Set the rows to what `read_all` gave."""
        return self._whole.assign(restored_tensors[0])


@dataclass(frozen=True)
class _Slot:
    """A slot variable whose values are in the rows of a table."""

    made: RuntimeTable
    table: Table
    number: int
    rows: tf.Tensor | None = None

    def read(self) -> tf.Tensor:
        """Build a read of the slot in all rows."""
        start = self.table.optimizers[0].starts[self.number]
        keys, _, slots, _ = self.made.snapshot()
        columns = slice(self.number * self.made.dim, (self.number + 1) * self.made.dim)
        known = tf.boolean_mask(tf.range(tf.size(keys)), (keys >= 0) & (keys < self.table.rows))
        begun = tf.fill([self.table.rows, self.made.dim], start)
        found = tf.tensor_scatter_nd_update(
            begun, tf.gather(keys, known)[:, tf.newaxis], tf.gather(slots[:, columns], known)
        )
        return tf.reshape(found, self.table.shape)


def _all(gradient: tf.Tensor) -> tf.IndexedSlices:
    return tf.IndexedSlices(gradient, tf.range(tf.shape(gradient)[0]))


def _given_back(op: tf.Operation, written: list[tuple[_Variable, tf.Tensor]]) -> tf.Operation:
    """Return an op in the place of one that has written stand-ins: it also gives the tables their rows."""
    if not written:
        return op
    with tf.control_dependencies([op]):
        sets = [whole.assign(_value(stand_in)) for whole, stand_in in written]
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
