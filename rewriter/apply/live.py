"""Applies a plan to a live tf.Graph before its first session: adds tables, lookups and updates, then moves edges.

Ops cannot be removed from a tf.Graph: replaced ops stay in it, but nothing runs them.
"""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE
from rewriter.analysis.savers import SaverPart
from rewriter.apply.branches import StandIn, carried_from, carried_parts
from rewriter.apply.edges import edit_controls, edit_input
from rewriter.apply.fetched import gone, moved_away, of_any_number, row_numbers, size_of_product, written_rows
from rewriter.apply.looked_up import (
    arithmetic_before,
    keys_of,
    number_before,
    ops_before,
    ops_before_row_op,
    row_op,
    rows_of_variable,
)
from rewriter.apply.partitions import all_rows, assign_rows, first_rows, gradient, replaced_variable, start_slot, unread
from rewriter.apply.savers import build_saver, let_restore_stock
from rewriter.apply.table_options import table_options
from rewriter.apply.whole_table import term_values, whole_gradient
from rewriter.checks.moved_variables import collections_of, stands_for
from rewriter.facts import RESOURCE_GATHERS, Lookup, NewRows, Optimizer, StaticAnswer, Table, Update
from rewriter.graph.view import Tensor
from rewriter.patterns.branches import ASKS, READS
from rewriter.plan.plan import ControlEdit, Plan
from rewriter.plan.planner import started_parts
from rewriter.table_settings import TableSettings
from runtime import sparse_lookup
from runtime.checkpoint.stock_variable import StockVariable
from runtime.optimizers.by_rule import record_updates, updates_by_rule
from runtime.table.clusters.servers import worker_of
from runtime.table.create import table_for_variable
from runtime.table.table import Table as RuntimeTable

#: Optimizers, Savers and warm starts read this collection, so it must list the anchors of tables.
_TRAINABLE = tf.compat.v1.GraphKeys.TRAINABLE_VARIABLES
#: Names of the variables of a graph that became tables; not a collection, because collections are exported.
MOVED: weakref.WeakKeyDictionary[tf.Graph, list[str]] = weakref.WeakKeyDictionary()


def apply_plan(graph: tf.Graph, plan: Plan, names: dict[str, str] | None = None) -> Callable[[], None]:
    """Apply the plan to a graph that is not finalized; return a function that restores all edges and collections.

    `names` receives, by part name, the graph's name of each tensor or op that was added.

    Raises:
        RewriteError: a part has another type than the tensor that it replaces; the rewrite was undone.
    """
    undo = contextlib.ExitStack()
    with graph.as_default(), tf.device(None), tf.device(worker_of(graph)), tf.control_dependencies(None), undo:
        undo.callback(_restore_collections, graph, collections_of(graph))
        asked = [edit.by for edit in plan.inputs] + [edit.by for edit in plan.controls]
        parts = _Parts(graph, asked)
        parts.add(plan.tables, plan.every)
        _edit(graph, plan, parts, undo)
        if names is not None:
            names |= {part: parts.element(part).name for part in parts.names}
        moved = [name for table in plan.tables for name in table.variables]
        for table in plan.tables:
            _take_place(graph.get_collection_ref(_TRAINABLE), table, parts.anchors(table.name))
        _leave_collections(graph, set(moved))
        undo.callback(MOVED.__setitem__, graph, MOVED.get(graph, []))
        MOVED[graph] = [*MOVED.get(graph, []), *moved]
        return undo.pop_all().close


def _edit(graph: tf.Graph, plan: Plan, parts: _Parts, undo: contextlib.ExitStack) -> None:
    """Move the edges of the tables, then rebuild the Savers on the new state and move their edges."""
    first = set(parts.names)
    for saving in (False, True):
        if saving:
            parts.add_savers(plan.savers)
        for edit in plan.inputs:
            if (edit.by not in first) == saving:
                edit_input(graph, edit, parts.tensor(edit.by), undo)
        waits = [wait for wait in plan.controls if (wait.by not in first) == saving]
        edit_controls(graph, ((wait, parts.op(wait.by)) for wait in [*waits, *parts.waiting(waits)]), undo)


class _Parts:
    """The ops that the plan's tables need, by part name; they are built in the graph on demand."""

    def __init__(self, graph: tf.Graph, awaited: Iterable[str]) -> None:
        """Take the graph, and the names of the parts that ops read or wait for; some are built only if needed."""
        self._graph = graph
        self._awaited = set(awaited)
        self._parts: dict[str, Any] = {}
        self._waits: dict[str, list[str]] = {}  # op of the graph -> new lookups that inherit its control inputs
        self._spans: list[tuple[list[str], int, int]] = []  # such ops, and the range of op numbers built meanwhile
        self._made: dict[str, RuntimeTable] = {}
        self._stocks: dict[str, StockVariable] = {}
        self._whole: dict[str, tf.Tensor] = {}  # by the read of a whole variable: the rows in its place

    @property
    def names(self) -> list[str]:
        """The parts that exist."""
        return list(self._parts)

    def add_savers(self, savers: Iterable[SaverPart]) -> None:
        """Rebuild the SaveV2 and RestoreV2 ops that include tables."""
        with _name_scope(f"{SCOPE}savers/"):
            for saver in savers:
                self._parts |= build_saver(self._graph, saver, self._made, self._stocks)

    def element(self, part: str) -> Any:
        """Return the tensor or op of a part."""
        return self._parts[part]

    def anchors(self, table: str) -> list[tf.Variable]:
        """Return the variables that stand for a table in gradients, collections and Savers: one, or one a server."""
        return self._made[table].variables

    def tensor(self, part: str) -> tf.Tensor:
        """Return a part that is a tensor."""
        return self._parts[part]

    def op(self, part: str) -> tf.Operation:
        """Return the op of a part."""
        tensor = self._parts[part]
        return tensor.op if isinstance(tensor, tf.Tensor) else tensor

    def waiting(self, waits: Iterable[ControlEdit]) -> Iterator[ControlEdit]:
        """Yield edits also for new lookups whose inherited control inputs are themselves replaced."""
        by_op: dict[str, list[ControlEdit]] = {}
        for wait in waits:
            if wait.op in self._waits:
                by_op.setdefault(wait.op, []).append(wait)
        for op, own in by_op.items():
            for name in self._waits[op]:
                before = {one.name for one in self._graph.get_operation_by_name(name).control_inputs}
                yield from (replace(wait, op=name) for wait in own if not before.isdisjoint(wait.old))

    @contextlib.contextmanager
    def _waiting(self, lookup: Lookup) -> Iterator[None]:
        """Build ops with the control inputs of a lookup and of the variable read that it uses."""
        old = ops_before(self._graph, lookup)
        with self._waiting_as(old, [one for op in old for one in op.control_inputs]):
            yield

    @contextlib.contextmanager
    def _waiting_as(self, old: Iterable[tf.Operation], awaited: Iterable[tf.Operation]) -> Iterator[None]:
        """Build ops that wait for `awaited` as the ops `old` do; later replacements of `awaited` apply here, too."""
        before = dict.fromkeys(awaited)
        first = self._graph.version
        with _tf_private.waiting_for(list(before)):
            yield
        if before:
            self._spans.append(([op.name for op in old], first, self._graph.version))

    def add(self, tables: Sequence[Table], every: int) -> None:
        """Build the tables with their lookups, then the updates, which wait for these lookups, then the rest.

        `every` steps share the value of a term over a whole table.
        """
        updates = []
        for table in tables:
            self._add_table(table)
            with _name_scope(f"{SCOPE}{table.name}/"):
                for i, lookup in enumerate(table.lookups):
                    self._add_lookup(table, f"{table.name}/lookup/{i}", lookup)
                self._parts |= term_values(self._made[table.name], table, every)
                for i, update in enumerate(table.updates):
                    own = self._updates(self._made[table.name], table, update)
                    done = [op for op, _ in own]
                    self._parts[f"{table.name}/update/{i}"] = done[0] if len(done) == 1 else tf.group(*done)
                    updates += own
                self._add_row_ops(table)
        record_updates(updates)
        for table in tables:
            with _name_scope(f"{SCOPE}{table.name}/"):
                self._add_reads(table)
                self._add_slot_starts(table)
        ops = self._graph.get_operations()  # called once, because it copies the list
        for names, first, last in self._spans:
            waiting = [op.name for op in ops[first:last] if op.control_inputs]
            for name in names:
                self._waits.setdefault(name, []).extend(waiting)
        for table in tables:
            with _name_scope(f"{SCOPE}{table.name}/"):
                self._add_rest(table)

    def _add_table(self, table: Table) -> None:
        runtime_table = table_for_variable(
            table.name,
            table.rows,
            table.dim,
            SCOPE,
            None if table.settings.begins_empty else lambda: first_rows(table, self._take),
            _initializer(table.new_rows),
            devices=[self._graph.get_operation_by_name(part.name).device for part in table.pieces],
            **table_options(table.settings, table.buckets),
        )
        self._made[table.name], self._stocks[table.name] = runtime_table, let_restore_stock(runtime_table, table)
        for optimizer in table.optimizers if len(table.optimizers) > 1 else ():
            for held in runtime_table.parts or [runtime_table]:
                held.slot_sets.number_of(optimizer)  # their sets are numbered as the plan counts them
        self._parts[f"{table.name}/initializer"] = runtime_table.anchor.initializer
        self._parts[f"{table.name}/gone"] = gone(table.name)

    def _add_lookup(self, table: Table, part: str, lookup: Lookup) -> None:
        """Build the lookup, and the tensors that the old op needs so that it can still be fetched."""
        ids, old = self._take(lookup.ids), self._graph.get_operation_by_name(lookup.op)
        with _branch(old), self._waiting(lookup):
            keys = keys_of(lookup, ids)
            looked_up_rows = sparse_lookup(
                self._made[table.name],
                keys,
                is_train=lookup.trains,
                modify_graph=True,
                access_and_evict_config=_admission(table.settings),
            )
            rows = rows_of_variable(table, lookup, looked_up_rows, ids)
            self._parts[part] = rows
            gathers = (self._graph.get_operation_by_name(name) for name in (lookup.op, *lookup.gathers))
            if any(op.type in RESOURCE_GATHERS for op in gathers):
                self._parts[part + "/moved"] = moved_away(lookup.op, rows)
            if old.type not in RESOURCE_GATHERS:
                self._parts[part + "/rows"] = of_any_number(tf.reshape(rows, [-1, *table.row]))
                self._parts[part + "/numbers"] = row_numbers(lookup, ids)
            if lookup.product:
                self._parts[part + "/size"] = size_of_product(old.inputs[2], ids)

    def _add_row_ops(self, table: Table) -> None:
        """Build what a composed step reads and writes. It waits for what it waited for, and for no other lookups."""
        runtime_table, parts = self._made[table.name], dict[str, str]()
        for i, row_operation in enumerate(table.row_ops):
            parts[row_operation.op] = f"{table.name}/row/{i}"
            old = ops_before_row_op(self._graph, row_operation)
            before = [self.op(parts[row_operation.after])] if row_operation.after else []
            waited = [waits for op in old for waits in op.control_inputs]
            with _branch(old[0]), self._waiting_as(old, waited), tf.control_dependencies(before):
                self._parts[parts[row_operation.op]] = row_op(runtime_table, table, row_operation, self._take)
            if row_operation.value is not None and not row_operation.slot:
                with tf.control_dependencies([self.op(parts[row_operation.op])]):
                    written_rows((row_operation.op, *row_operation.results), all_rows(runtime_table, table, 0))

    def _add_reads(self, table: Table) -> None:
        """Build the reads of all rows where the old ones were, which wait for what these waited for."""
        for read in {one.key: one for one in table.reads}.values():
            old = [self._graph.get_operation_by_name(name) for name in read.waits]
            op = self._graph.get_operation_by_name(read.old.op)
            while op.type in READS:
                old.append(op)
                op = op.inputs[0].op
            awaited = [one for op in old for one in op.control_inputs]
            with _branch(self._graph.get_operation_by_name(read.old.op)), self._waiting_as(old, awaited):
                self._parts[f"{table.name}/rows/{read.key}"] = all_rows(self._made[table.name], table, read.part)
            self._whole[str(read.old)] = self._parts[f"{table.name}/rows/{read.key}"]

    def _add_slot_starts(self, table: Table) -> None:
        """Build what starts a slot where the old op did, which waits for what that and its number waited for."""
        for start in table.slot_starts:
            op = self._graph.get_operation_by_name(start.op)
            old = [op, *number_before(op.inputs[1])]
            with _branch(op), self._waiting_as(old, [waited for one in old for waited in one.control_inputs]):
                self._parts[f"{table.name}/slot/{start.op}"] = start_slot(self._made[table.name], table, start)

    def _add_rest(self, table: Table) -> None:
        runtime_table = self._made[table.name]
        asked = any(part.startswith(f"{table.name}/started/{ASKS[1]}") for part in self._awaited)
        self._parts |= started_parts(table.name, runtime_table, asked)
        for answer in table.answers:
            self._parts[f"{table.name}/{answer.kind}/{answer.op}"] = self._answer(answer)
        self._parts |= carried_parts(self._graph, table)
        for number, piece in enumerate(table.pieces):
            if f"{table.name}/assigned/{number}" in self._awaited:
                with tf.device(self._graph.get_operation_by_name(piece.name).device):
                    self._parts[f"{table.name}/assigned/{number}"] = unread((piece.rows, *table.row))
        for assignment in (*table.initial_rows, *table.assigned):
            part = f"{table.name}/assign/{assignment.op}"
            with _branch(self._graph.get_operation_by_name(assignment.op)):
                self._parts[part] = assign_rows(runtime_table, table, assignment, self._take)
        started = self._parts[f"{table.name}/assign/{table.pieces[-1].initializer}"]
        if table.settings.begins_empty:
            # A group of TensorFlow's starts the parts on one server, and there is nothing to assign.
            emptied = runtime_table.anchor.initializer
            self._parts |= {f"{table.name}/assign/{one.op}": emptied for one in table.initial_rows}
        runtime_table.anchor.stands_for = replaced_variable(runtime_table, table, self._take, started)
        runtime_table.anchor.with_slots = False

    def _updates(
        self, runtime_table: RuntimeTable, table: Table, update: Update
    ) -> list[tuple[tf.Operation, RuntimeTable]]:
        """Return the ops of an update with the tables that they update: one, or that of each shard."""
        hyper = [self._take(given) if isinstance(given, Tensor) else given for given in update.hyper]
        old = [self._graph.get_operation_by_name(name) for name in update.ops]
        old += arithmetic_before(self._graph, update)
        # Ignore waits for reads and decays of the update's own slots, which no longer run.
        gone = {*update.ops, *table.variables}
        sets = {one.op for one in table.set_by} | {op for one in table.row_ops for op in (one.op, *one.results)}
        own = (one for op in old for one in op.control_inputs if one not in old and one.name not in gone)
        awaited = [
            one for one in own if one.name in sets or not any(carried_from(given).name in gone for given in one.inputs)
        ]
        with _branch(old[0]), self._waiting_as(old, awaited):
            whole = None if update.whole is None else whole_gradient(update.whole, self._take)
            arguments = (gradient(table, update, self._take), update.rule, hyper, update.starts, whole)
            owner = Optimizer.of(update) if len(table.optimizers) > 1 else None
            return updates_by_rule(runtime_table, *arguments, owner=owner, takes_nonfinite=True)

    def _answer(self, answer: StaticAnswer) -> tf.Tensor:
        kept = self._graph.get_operation_by_name(answer.op)
        known = {"shape": answer.shape, "size": math.prod(answer.shape), "rank": len(answer.shape), "set": True}
        return StandIn(tf.constant(known[answer.kind], kept.outputs[0].dtype)).of(kept.inputs[0])

    def _take(self, tensor: Tensor) -> tf.Tensor:
        """Return a tensor of the graph; the rows of a table instead of a read of the variable that it replaced."""
        return self._whole[str(tensor)] if str(tensor) in self._whole else self._graph.get_tensor_by_name(str(tensor))


def _initializer(rows: NewRows) -> Any:
    """Return the runtime's initializer for new rows: a row is a function of the table's seed and the key."""
    initializers = tf.compat.v1
    if rows.kind == "constant":
        return initializers.constant_initializer(rows.a)
    kinds = {
        "normal": initializers.random_normal_initializer,
        "truncated_normal": initializers.truncated_normal_initializer,
        "uniform": initializers.random_uniform_initializer,
    }
    return kinds[rows.kind](rows.a, rows.b, seed=rows.seed)


def _admission(settings: TableSettings) -> dict[str, int] | None:
    return None if settings.admit_after is None else {"access_threshold": settings.admit_after}


def _take_place(held: list[Any], table: Table, anchors: list[tf.Variable]) -> None:
    """Put the anchors of a table before the first item of a collection that the table replaces, if there is one."""
    places = (place for place, item in enumerate(held) if stands_for(item, set(table.variables)))
    first = next(places, None)
    if first is not None:
        held[first:first] = anchors


def _leave_collections(graph: tf.Graph, names: set[str]) -> None:
    """Remove variables from all collections, so that they are no longer initialized, saved or trained."""
    for name in graph.collections:
        held = graph.get_collection_ref(name)
        held[:] = [item for item in held if not stands_for(item, names)]


def _restore_collections(graph: tf.Graph, before: dict[str, list[Any]]) -> None:
    for name in graph.collections:
        graph.get_collection_ref(name)[:] = before.get(name, [])


@contextlib.contextmanager
def _name_scope(name: str) -> Iterator[None]:
    with tf.name_scope(name):
        yield


@contextlib.contextmanager
def _branch(op: tf.Operation) -> Iterator[None]:
    """Build in the same branch of a v1 tf.cond as `op`."""
    with _tf_private.control_flow_of(op):
        yield
