"""Finds variables that can become tables: each use must be a lookup, a sparse update or a query that tables answer."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import tensorflow as tf

from rewriter.analysis.savers import restored_by, servers_of, why_not_saved
from rewriter.analysis.several import why_not_trained
from rewriter.analysis.slots import is_slot, slot_starts, why_slots_stay
from rewriter.analysis.steps import why_fetched, why_no_optimizer, why_not_a_step, why_stepped_whole
from rewriter.analysis.unfit import Fitness, Refused
from rewriter.analysis.whole_uses import WholeUse, WholeUses, is_handle, sort_whole_uses
from rewriter.by_rows.place import given_ids
from rewriter.facts import ASSIGNMENTS, VARIABLES, Lookup, Refusal, RowOp, StaticAnswer, Table, Update
from rewriter.flow import PRODUCTS, Pick, Picks
from rewriter.graph.bodies import functions_of
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.patterns.assignments import sort_assignments
from rewriter.patterns.branches import ASKS, CLOSED, carries, computed_from, source, waited_for
from rewriter.patterns.composed import adam_update, descent_update
from rewriter.patterns.functions import inner_uses, why_not_entered
from rewriter.patterns.fused import DENSE, FUSED, dense_update, fused_update
from rewriter.patterns.initial_values import new_rows
from rewriter.patterns.matching import Mismatch
from rewriter.patterns.partitioned import find_stitches, join_parts, named
from rewriter.patterns.pooled import SEGMENTS, is_product
from rewriter.patterns.row_ops import ROW_WRITES, composed_steps, row_write, writes_rows
from rewriter.patterns.whole_table import why_not_joined

__all__ = ["LOOKUPS", "VARIABLES", "find_tables"]

_NESTED = ("ResourceGatherNd", "GatherNd")
_GATHERS = ("ResourceGather", "GatherV2", "Gather", *_NESTED)
#: Types of ops that look rows up.
LOOKUPS = (*_GATHERS, *SEGMENTS)
_SCATTERS = ("ResourceScatterAdd", "ResourceScatterSub", "ScatterAdd", "ScatterSub")
_SUBTRACTIONS = ("AssignSubVariableOp", "AssignSub")
#: Op types that a table replaces, so that all their attributes must be understood.
_REPLACED = {*LOOKUPS, *FUSED, *DENSE, *ROW_WRITES, *_SUBTRACTIONS, *ASSIGNMENTS}
_REMEDY = "use tf.nn.embedding_lookup on the variable itself, and change the rows that it returns"
_SAMPLED = " in training: if it is a softmax over all rows, use tf.nn.sampled_softmax_loss, which looks rows up"
_ANSWERS = {"VariableShape": "shape", "Shape": "shape", "Size": "size", "Rank": "rank"} | dict.fromkeys(ASKS, "set")


class _Whole(Refused):
    """The last op of the path uses the whole variable."""


def _why_whole(whole: _Whole, pick: Pick | None) -> Refused:
    """Extend the reason if the op that uses the whole variable selects rows, or if an op after it does."""
    if pick is None or whole.path != pick.path[: len(whole.path)]:
        return whole
    if pick.op == whole.path[-1]:
        what = "parts of rows" if pick.type in _NESTED else "rows"
        return Refused(f"{pick.type} `{pick.op}` selects {what} of it and is not a lookup: {_REMEDY}", *pick.path)
    return Refused(f"{whole.reason}, and {pick.type} `{pick.op}` selects rows of the result: {_REMEDY}", *pick.path)


@dataclass
class _Uses:
    """The uses of one variable, by kind."""

    lookups: list[Lookup] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    answers: list[StaticAnswer] = field(default_factory=list)
    assignments: list[str] = field(default_factory=list)
    carriers: list[str] = field(default_factory=list)  #: ops that only hand the variable on, such as reads
    unknown: list[tuple[tuple[str, ...], Mismatch]] = field(default_factory=list)  #: dense steps, not understood
    wholes: list[WholeUse] = field(default_factory=list)  #: ops that use the whole variable otherwise
    writes: list[RowOp] = field(default_factory=list)  #: writes of rows, in steps that are composed of several ops


def find_tables(
    view: GraphView, names: Iterable[str] | None = None, moved: Collection[str] = ()
) -> tuple[list[Table], list[Refusal]]:
    """Judge every variable that is looked up, or the variables `names` in this order; skip those in `moved`.

    Returns:
        The variables that can become tables, and refusals for the others.

    Raises:
        ValueError: a name in `names` is not a variable of the graph.
    """
    variables = view.of_type(*VARIABLES)
    stitches = find_stitches(view)
    wanted = variables if names is None else named(names, variables, stitches)
    unknown = sorted(set(wanted) - set(variables))
    if unknown:
        raise ValueError(f"the graph has no variable `{unknown[0]}`: name variables whose rows the graph looks up")
    finder = _Finder(view)
    tables, refusals = [], []
    for name in (one for one in wanted if one not in moved):
        try:
            table = finder.judge(name, asked=names is not None)
            tables += [table] if table else []
        except Refused as refused:
            refusals.append(Refusal(name, refused.reason, refused.path, _shape(view, name)))
    joined = join_parts(view, tables, stitches)
    whole = {table.name for table in tables if table.terms or any(update.whole for update in table.updates)}
    joined = [replace(table, slot_starts=slot_starts(view, table), servers=servers_of(view, table)) for table in joined]
    reasons = {
        table.name: why_not_joined(table, whole)
        or why_not_trained(table)
        or why_slots_stay(view, table, finder.fitness)
        or why_not_saved(view, table)
        for table in joined
    }
    for table in joined:
        if reason := reasons[table.name]:
            path = (table.pieces[0].name, reason[1])
            refusals.append(Refusal(table.name, reason[0], path, shape=table.shape))
    if names is None:
        slots = {slot for table in joined for slot in table.slots}  # a composed step looks the rows of a slot up, too
        joined = [table for table in joined if table.name not in slots]
        refusals = [one for one in refusals if one.table not in slots]
        kept = [one.table for one in refusals]
        refusals = [one for one in refusals if not is_slot(view, one.table, kept)]
    return [table for table in joined if not reasons[table.name]], refusals


def _shape(view: GraphView, variable: str) -> tuple[int, ...]:
    """Return a variable's shape, with -1 for unknown dimensions; empty if the rank is unknown."""
    return tuple(int(one.size) for one in view.attribute(variable, "shape").shape.dim)


class _Finder:
    """Walks the uses of variables; intermediate results are cached."""

    def __init__(self, view: GraphView) -> None:
        self.view = view
        self._picks, self.fitness = Picks(view), Fitness(view)

    def judge(self, name: str, asked: bool) -> Table | None:
        """Return the table that can replace a variable; None if the graph never looks up its rows."""
        pick = self._picks.of(name)
        if not asked and pick is None:
            return None
        self.fitness.check(name)
        shape = self.fitness.size(name)
        uses = _Uses()
        try:
            for use in self.view.users(name):
                self._use(name, use, uses, (name,))
            whole = self._wholes(name, uses)
        except _Whole as refused:
            raise _why_whole(refused, pick) from None
        if not uses.lookups:
            raise Refused("its rows are never looked up")
        sets = sort_assignments(self.view, name, uses.assignments)
        if isinstance(sets, str):
            raise Refused(sets)
        if reason := why_stepped_whole(self.view, uses.lookups, sets.later):
            raise Refused(reason[0], name, reason[1])
        lookups = self._trained(uses)
        slots = {slot for update in uses.updates for slot in update.slots}
        composed = composed_steps(self.view, name, uses.writes, {one.ids for one in lookups}, slots, self._start)
        if isinstance(composed, str):
            raise Refused(composed, name, uses.writes[0].op)
        row_ops = (*composed[0], *uses.writes)
        initial, usual = (self.view.inputs(op)[1] for op in (sets.initializer, sets.usual))
        answers = tuple(uses.answers)
        return Table(
            name,
            rows=shape[0],
            dim=math.prod(shape[1:]),
            initial=initial,
            initializer=sets.initializer,
            row=shape[1:],
            lookups=lookups,
            updates=tuple(uses.updates),
            answers=answers,
            new_rows=new_rows(self.view, usual),
            carriers=waited_for(self.view, uses.carriers, [answer.op for answer in answers]),
            assigned=sets.later,
            reads=whole.reads,
            terms=whole.terms,
            row_ops=row_ops,
            composed=composed[1],
        )

    def _trained(self, uses: _Uses) -> tuple[Lookup, ...]:
        """Return the lookups, and of each whether it is trained: only such a lookup inserts the rows that it lacks.

        A step that is composed of several ops also looks up the rows that it writes. That lookup inserts none: the one
        that its gradient comes from has run by then.
        """
        ids = [ids for update in uses.updates for _, ids in update.gradients]
        written = [one.ids for one in uses.writes]
        trained = computed_from(self.view, [*ids, *written])
        return tuple(
            replace(one, trains=given_ids(self.view, one.ids).op in trained and one.ids not in written)
            for one in uses.lookups
        )

    def _use(self, name: str, use: Use, uses: _Uses, path: tuple[str, ...]) -> None:
        """Classify one use of the variable, or of a read of it; raise for a use that a table cannot replace."""
        path = (*path, use.op)
        if self.view.type(use.op) in _REPLACED and use.input == 0:
            self.fitness.check_settings(use.op, *path)
        kinds = (self._is_lookup, self._is_update, self._is_assignment, self._is_query, self._is_passed_on)
        if not any(is_kind(name, use, uses, path) for is_kind in kinds):
            uses.wholes.append(WholeUse(path, use.input))

    def _is_lookup(self, name: str, use: Use, uses: _Uses, path: tuple[str, ...]) -> bool:
        """Take a use that reads rows, or elements of them."""
        op, kind = use.op, self.view.type(use.op)
        if use.input == 0 and self._takes_elements(op):
            uses.wholes.append(WholeUse(path, 0))  # of elements, or of rows that nobody knows
        elif is_product(self.view, op, use.input):
            uses.lookups.append(Lookup(op, self.view.inputs(op)[0], Tensor(op), False, "pooled lookup", product=True))
        elif kind in LOOKUPS and use.input == 0:
            rule = "pooled lookup" if kind in SEGMENTS else "lookup"
            uses.lookups.append(Lookup(op, self._ids(op, path), Tensor(op), False, rule, nested=kind in _NESTED))
        else:
            return False
        return True

    def _is_update(self, name: str, use: Use, uses: _Uses, path: tuple[str, ...]) -> bool:
        """Take a use that is a step of an optimizer, or writes rows."""
        op, kind = use.op, self.view.type(use.op)
        if use.input != 0:
            return False
        if kind in FUSED:
            self._update(fused_update(self.view, op, name, self._variable, self._start), uses, path)
        elif kind in DENSE:
            update = dense_update(self.view, op, name, self._variable, self._start)
            if isinstance(update, Mismatch):
                uses.unknown.append((path, update))
            else:
                self._update(update, uses, path)
        elif writes_rows(self.view, op):
            self._write(name, op, uses, path)
        elif kind in _SUBTRACTIONS:
            self._update(adam_update(self.view, op, self._variable, self._start), uses, path)
        else:
            return False
        return True

    def _is_assignment(self, name: str, use: Use, uses: _Uses, path: tuple[str, ...]) -> bool:
        """Take a use that sets all rows."""
        op = use.op
        if self.view.type(op) not in ASSIGNMENTS or use.input != 0:
            return False
        if self.view.type(path[-2]) == "RefEnter":
            raise Refused(f"`{op}` assigns it inside of a loop: create the variable with use_resource=True", *path)
        if _may_resize(self.view, op, self.fitness.size(name)):
            raise Refused(f"`{op}` may give it another number of rows: leave validate_shape=False out", *path)
        uses.assignments += [] if restored_by(self.view, op) else [op]
        return True

    def _is_query(self, name: str, use: Use, uses: _Uses, path: tuple[str, ...]) -> bool:
        """Take a use that needs no row: of a Saver, of a handle, of the shape."""
        op, kind = use.op, self.view.type(use.op)
        if kind in ("SaveV2", "DisableCopyOnRead") or self._of_handle(op):
            # `why_not_saved` judges Savers once slots are known. The others ask the handle, which a table has, too.
            return True
        if use.input == 0 and (reason := why_no_optimizer(kind, op)):
            raise Refused(reason, *path)
        if kind in _ANSWERS:
            uses.answers.append(StaticAnswer(op, _ANSWERS[kind], self.fitness.size(name)))
        return kind in _ANSWERS

    def _is_passed_on(self, name: str, use: Use, uses: _Uses, path: tuple[str, ...]) -> bool:
        """Take a use that hands the variable on: to ops whose uses count, or to a function that is not entered."""
        op = use.op
        if op in self.view.closed:
            raise Refused(f"`{op}` passes it into a loop that cannot be extended: {CLOSED}", *path)
        if carries(self.view, use):
            uses.carriers.append(op)
            for further in self.view.users(op):
                self._use(name, further, uses, path)
            return True
        if functions_of(self.view.nodes[op], self.view.functions) and not self._given_rows(use):
            raise Refused(why_not_entered(self.view, use, LOOKUPS), *path)
        return False

    def _write(self, name: str, op: str, uses: _Uses, path: tuple[str, ...]) -> None:
        """Add a write of rows: a step of gradient descent, or one that the graph composes."""
        if reason := why_fetched(self.view, op):
            raise Refused(reason, *path)
        step = descent_update(self.view, op, len(self.fitness.size(name))) if self.view.type(op) in _SCATTERS else None
        if isinstance(step, Update):
            uses.updates.append(step)
            return
        readers = self.view.users(op)
        if readers:
            raise Refused(
                f"{self.view.type(readers[0].op)} `{readers[0].op}` reads the output of `{op}`, the whole variable "
                "after its update: read rows of it by tf.gather under tf.control_dependencies",
                *path,
                readers[0].op,
            )
        uses.writes.append(row_write(self.view, op))

    def _takes_elements(self, op: str) -> bool:
        """Whether an op selects by more than one index, or by a number of them that nobody knows."""
        return self.view.type(op) in _NESTED and self.view.shape(self.view.inputs(op)[1])[-1:] != [1]

    def _given_rows(self, use: Use) -> bool:
        """Whether an op that calls functions is given the value of the variable, and they do not look it up."""
        indices = self.view.inputs(use.op)[use.input]
        if is_handle(self.view, indices) or self.view.type(indices.op).startswith(("Variable", "Ref")):
            return False  # a handle, or a reference: what is given may be written, or read later
        return not any(one.type in LOOKUPS for one in inner_uses(self.view, use))

    def _wholes(self, name: str, uses: _Uses) -> WholeUses:
        """Return the uses of the whole variable that a table replaces; refuse a variable that has others."""
        unknown = [path[-1] for path, _ in uses.unknown]
        sorted_uses = sort_whole_uses(self.view, name, uses.wholes, uses.updates, unknown, uses.writes)
        # Without lookups there is no table, and a use of the whole variable is the reason.
        if sorted_uses.refused or (uses.wholes and not uses.lookups):
            use = sorted_uses.refused or uses.wholes[0]
            if functions_of(self.view.nodes[use.op], self.view.functions):
                raise Refused(why_not_entered(self.view, Use(use.op, use.input), LOOKUPS), *use.path)
            kind = self.view.type(use.op)
            trained = bool(sorted_uses.refused and uses.lookups and kind in PRODUCTS)
            raise _Whole(f"{kind} `{use.op}` uses the whole variable{_SAMPLED if trained else ''}", *use.path)
        for path, mismatch in uses.unknown:
            self._update(mismatch, uses, path)
        return sorted_uses

    def _of_handle(self, op: str) -> bool:
        """Whether an op takes the shape of the variable's handle, as gradients of nested loops do, not of its value."""
        return self.view.type(op) == "Shape" and self.view.attribute(op, "T").type == tf.resource.as_datatype_enum

    def _ids(self, op: str, path: tuple[str, ...]) -> Tensor:
        axis = self.view.number(self.view.inputs(op)[2]) if self.view.type(op) == "GatherV2" else np.int32(0)
        if axis is None or int(axis) != 0 or self.view.attribute(op, "batch_dims").i != 0:
            raise Refused(f"`{op}` gathers along another axis than 0, that of the rows", *path)
        return self.view.inputs(op)[1]

    def _update(self, update: Update | Refusal | Mismatch, uses: _Uses, path: tuple[str, ...]) -> None:
        if isinstance(update, Refusal):
            raise Refused(update.reason, *update.path)
        if isinstance(update, Mismatch):
            raise Refused(why_not_a_step(self.view, path[-1], update), *path)
        uses.updates.append(update)

    def _variable(self, tensor: Tensor) -> str:
        slot = source(self.view, tensor).op
        if self.view.type(slot) not in VARIABLES:
            raise Refused(f"`{tensor}` is used as a slot but is not a variable", tensor.op)
        return slot

    def _start(self, slot: str) -> float:
        """Return the constant that all elements of a slot are initialized with."""
        assigned = [use.op for use in self.view.users(slot) if self.view.type(use.op) in ASSIGNMENTS and use.input == 0]
        for op in assigned:
            value = self.view.number(self.view.inputs(op)[1])
            if value is not None:
                return float(value)
        raise Refused(f"its slot `{slot}` is not initialized with a constant", slot)


def _may_resize(view: GraphView, op: str, size: tuple[int, ...]) -> bool:
    """Whether an assignment takes values of any shape, and may be given others than those of the variable."""
    if (
        view.type(op) != "Assign"
        or "validate_shape" not in view.nodes[op].attr
        or view.attribute(op, "validate_shape").b
    ):
        return False
    new_shape = view.shape(view.inputs(op)[1])
    return not new_shape.is_fully_defined() or tuple(new_shape) != size
