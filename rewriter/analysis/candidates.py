"""Finds variables that can become tables: each use must be a lookup, a sparse update or a query that tables answer."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np
import tensorflow as tf

from rewriter.analysis.savers import restored_by, why_not_saved
from rewriter.analysis.whole_uses import WholeUse, WholeUses, sort_whole_uses
from rewriter.facts import Lookup, Refusal, StaticAnswer, Table, Update
from rewriter.flow import Pick, Picks
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.patterns.assignments import sort_assignments
from rewriter.patterns.attributes import strange_setting
from rewriter.patterns.branches import ASKS, CLOSED, carries, computed_from, source, waited_for
from rewriter.patterns.composed import adam_update, descent_update
from rewriter.patterns.dense import DENSE, dense_update
from rewriter.patterns.functions import functions_of, why_not_entered
from rewriter.patterns.fused import FUSED, fused_update
from rewriter.patterns.initial_values import new_rows
from rewriter.patterns.matching import Mismatch
from rewriter.patterns.partitioned import find_stitches, join_parts, named
from rewriter.patterns.pooled import SEGMENTS
from rewriter.patterns.whole_table import why_not_joined

__all__ = ["LOOKUPS", "VARIABLES", "find_tables"]

#: Op types that create a variable.
VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
_GATHERS = ("ResourceGather", "GatherV2", "Gather")
#: Types of ops that look rows up.
LOOKUPS = (*_GATHERS, *SEGMENTS)
_SCATTERS = ("ResourceScatterAdd", "ResourceScatterSub", "ScatterAdd", "ScatterSub")
_SUBTRACTIONS = ("AssignSubVariableOp", "AssignSub")
_ASSIGNMENTS = ("AssignVariableOp", "Assign")
#: Op types that a table replaces, so that all their attributes must be understood.
_REPLACED = {*LOOKUPS, *FUSED, *DENSE, *_SCATTERS, *_SUBTRACTIONS, *_ASSIGNMENTS}
_REMEDY = "use tf.nn.embedding_lookup on the variable itself, and change the rows that it returns"
#: Jobs whose variables are trained by a single session, unlike those of parameter servers.
_OWN_JOBS = ("localhost", "local", "worker", "chief", "master")
_ANSWERS = {"VariableShape": "shape", "Shape": "shape", "Size": "size", "Rank": "rank"} | dict.fromkeys(ASKS, "set")


class _Refused(Exception):
    """Ends the walk over a variable's uses with a reason."""

    def __init__(self, reason: str, *path: str) -> None:
        super().__init__(reason)
        self.reason, self.path = reason, path


class _Whole(_Refused):
    """The last op of the path uses the whole variable."""


def _why_whole(found: _Whole, pick: Pick | None) -> _Refused:
    """Extend the reason if the op that uses the whole variable selects rows, or if an op after it does."""
    if pick is None or found.path != pick.path[: len(found.path)]:
        return found
    if pick.op == found.path[-1]:
        return _Refused(f"{pick.type} `{pick.op}` selects rows of it and is not a lookup: {_REMEDY}", *pick.path)
    return _Refused(f"{found.reason}, and {pick.type} `{pick.op}` selects rows of the result: {_REMEDY}", *pick.path)


@dataclass
class _Uses:
    """The uses of one variable, by kind."""

    lookups: list[tuple[str, Tensor]] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    answers: list[StaticAnswer] = field(default_factory=list)
    assignments: list[str] = field(default_factory=list)
    carriers: list[str] = field(default_factory=list)
    unknown: list[tuple[tuple[str, ...], Mismatch]] = field(default_factory=list)  # dense steps that are not understood
    wholes: list[WholeUse] = field(default_factory=list)  # ops that use the whole variable otherwise


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
    wanted = variables if names is None else named(view, names, variables, stitches)
    unknown = sorted(set(wanted) - set(variables))
    if unknown:
        raise ValueError(f"the graph has no variable `{unknown[0]}`: name variables whose rows the graph looks up")
    finder = _Finder(view)
    tables, refusals = [], []
    for name in (one for one in wanted if one not in moved):
        try:
            table = finder.judge(name, asked=names is not None)
            tables += [table] if table else []
        except _Refused as refused:
            refusals.append(Refusal(name, refused.reason, refused.path))
    joined = join_parts(view, tables, stitches)
    whole = {table.name for table in tables if table.terms or any(update.whole for update in table.updates)}
    unsaved = {table.name: why_not_joined(table, whole) or why_not_saved(view, table) for table in joined}
    for table in joined:
        if unfit := unsaved[table.name]:
            path = (table.pieces[0].name, unfit[1])
            refusals.append(Refusal(table.name, unfit[0], path, shape=(table.rows, table.dim)))
    return [table for table in joined if not unsaved[table.name]], refusals


class _Finder:
    """Walks the uses of variables; intermediate results are cached."""

    def __init__(self, view: GraphView) -> None:
        self.view = view
        self._picks = Picks(view)

    def judge(self, name: str, asked: bool) -> Table | None:
        """Return the table that can replace a variable; None if the graph never looks up its rows."""
        pick = self._picks.of(name)
        if not asked and pick is None:
            return None
        rows, dim = self._size(name)
        self._check_job(name)
        self._check_shared(name)
        self._check_settings(name)
        uses = _Uses()
        try:
            for use in self.view.users(name):
                self._use(name, use, uses, (name,))
            whole = self._wholes(name, uses)
        except _Whole as refused:
            raise _why_whole(refused, pick) from None
        if not uses.lookups:
            raise _Refused("its rows are never looked up")
        sets = sort_assignments(self.view, name, uses.assignments)
        if isinstance(sets, str):
            raise _Refused(sets)
        self._check_updates(uses.updates)
        trained = computed_from(self.view, [update.indices for update in uses.updates])
        lookups = tuple(Lookup(op, ids, Tensor(op), ids.op in trained) for op, ids in uses.lookups)
        initial, usual = (self.view.inputs(op)[1] for op in (sets.initializer, sets.usual))
        answers = tuple(uses.answers)
        awaited = waited_for(self.view, uses.carriers, [answer.op for answer in answers])
        found = (lookups, tuple(uses.updates), answers, new_rows(self.view, usual), awaited)
        size = (name, rows, dim, initial, sets.initializer)
        return Table(*size, *found, assigned=sets.later, reads=whole.reads, terms=whole.terms)

    def _check_job(self, name: str) -> None:
        if name in self.view.copied:
            strategy, replicas = self.view.copied[name]
            raise _Refused(
                f"{strategy} copies it to each of {replicas} replicas, and a table has no copies: leave out "
                "train_distribute and eval_distribute, or give the strategy one device"
            )
        device = str(self.view.nodes[name].device)
        found = re.search("/job:([^/]*)", device)
        if found and found[1] not in _OWN_JOBS:
            raise _Refused(
                f"it is placed on {device}, where sessions of other workers train it too, and a table belongs to one "
                "session: train in one process"
            )

    def _check_shared(self, name: str) -> None:
        """Refuse a variable that another op also creates: two imports of one graph share their variables by name."""
        others = [one for one in self._sharing.get(self._shared_name(name), ()) if one != name]
        if others:
            raise _Refused(f"`{others[0]}` has the same shared_name: import the graph only once", others[0])

    @functools.cached_property
    def _sharing(self) -> dict[tuple[str, str], list[str]]:
        found: dict[tuple[str, str], list[str]] = {}
        for name in self.view.of_type(*VARIABLES):
            found.setdefault(self._shared_name(name), []).append(name)
        return found

    def _shared_name(self, name: str) -> tuple[str, str]:
        container, shared = (self.view.attribute(name, one).s.decode() for one in ("container", "shared_name"))
        return container, shared or name

    def _check_settings(self, op: str, *path: str) -> None:
        strange = strange_setting(self.view, op)
        if strange:
            raise _Refused(f"{self.view.type(op)} `{op}` has {strange}, which a table does not support", *path)

    @staticmethod
    def _check_updates(updates: list[Update]) -> None:
        for one in updates[1:]:
            first = updates[0]
            if (one.rule, one.slots, one.starts) != (first.rule, first.slots, first.starts):
                raise _Refused(
                    f"two optimizers train it, {first.rule} `{first.ops[0]}` and {one.rule} `{one.ops[0]}`, and a "
                    "table has slots for one: minimize the sum of the losses, or use one optimizer",
                    one.ops[0],
                )

    def _size(self, name: str) -> tuple[int, int]:
        kind = tf.as_dtype(self.view.attribute(name, "dtype").type)
        shape = tf.TensorShape(self.view.attribute(name, "shape").shape)
        if kind != tf.float32:
            raise _Refused(f"its type is {kind.name}, and a table holds float32")
        if shape.rank != 2 or not shape.is_fully_defined():
            raise _Refused(f"its shape is {shape}, and a table has shape [rows, dim]")
        return int(shape[0]), int(shape[1])

    def _use(self, name: str, use: Use, uses: _Uses, path: tuple[str, ...]) -> None:
        """Classify one use of the variable, or of a read of it; raise for a use that a table cannot replace."""
        op, kind = use.op, self.view.type(use.op)
        path = (*path, op)
        if kind in _REPLACED and use.input == 0:
            self._check_settings(op, *path)
        if kind in LOOKUPS and use.input == 0:
            uses.lookups.append((op, self._ids(op, path)))
        elif kind in FUSED and use.input == 0:
            self._update(fused_update(self.view, op, name, self._variable, self._start), uses, path)
        elif kind in DENSE and use.input == 0:
            found = dense_update(self.view, op, name, self._variable, self._start)
            uses.unknown += [(path, found)] if isinstance(found, Mismatch) else []
            if not isinstance(found, Mismatch):
                self._update(found, uses, path)
        elif kind in _SCATTERS and use.input == 0:
            self._update(descent_update(self.view, op), uses, path)
        elif kind in _SUBTRACTIONS and use.input == 0:
            self._update(adam_update(self.view, op, self._variable, self._start), uses, path)
        elif kind in _ASSIGNMENTS and use.input == 0:
            uses.assignments += [] if restored_by(self.view, op) else [op]
        elif kind in ("SaveV2", "DisableCopyOnRead") or self._of_handle(op):
            pass  # `why_not_saved` decides about Savers once slots are known; a handle outlives its variable
        elif kind in _ANSWERS:
            uses.answers.append(StaticAnswer(op, _ANSWERS[kind], self._size(name)))
        elif op in self.view.closed:
            raise _Refused(f"`{op}` passes it into a loop that cannot be extended: {CLOSED}", *path)
        elif carries(self.view, use):
            uses.carriers.append(op)
            for further in self.view.users(op):
                self._use(name, further, uses, path)
        elif functions_of(self.view, self.view.nodes[op]):
            raise _Refused(why_not_entered(self.view, use, LOOKUPS), *path)
        else:
            uses.wholes.append(WholeUse(path, use.input))

    def _wholes(self, name: str, uses: _Uses) -> WholeUses:
        """Return the uses of the whole variable that a table replaces; refuse a variable that has others."""
        found = sort_whole_uses(self.view, name, uses.wholes, uses.updates, [path[-1] for path, _ in uses.unknown])
        # Without lookups there is no table, and a use of the whole variable is the reason.
        if found.refused or (uses.wholes and not uses.lookups):
            use = found.refused or uses.wholes[0]
            raise _Whole(f"{self.view.type(use.op)} `{use.op}` uses the whole variable", *use.path)
        for path, mismatch in uses.unknown:
            self._update(mismatch, uses, path)
        return found

    def _of_handle(self, op: str) -> bool:
        """Whether an op takes the shape of the variable's handle, as gradients of nested loops do, not of its value."""
        return self.view.type(op) == "Shape" and self.view.attribute(op, "T").type == tf.resource.as_datatype_enum

    def _ids(self, op: str, path: tuple[str, ...]) -> Tensor:
        axis = self.view.number(self.view.inputs(op)[2]) if self.view.type(op) == "GatherV2" else np.int32(0)
        if axis is None or int(axis) != 0 or self.view.attribute(op, "batch_dims").i != 0:
            raise _Refused(f"`{op}` gathers along another axis than the rows", *path)
        return self.view.inputs(op)[1]

    @staticmethod
    def _update(found: Update | Refusal | Mismatch, uses: _Uses, path: tuple[str, ...]) -> None:
        if isinstance(found, Refusal):
            raise _Refused(found.reason, *found.path)
        if isinstance(found, Mismatch):
            raise _Refused(f"`{path[-1]}` is not an update of a known optimizer: at `{found.op}` {found.reason}", *path)
        uses.updates.append(found)

    def _variable(self, tensor: Tensor) -> str:
        slot = source(self.view, tensor).op
        if self.view.type(slot) not in VARIABLES:
            raise _Refused(f"`{tensor}` is used as a slot but is not a variable", tensor.op)
        return slot

    def _start(self, slot: str) -> float:
        """Return the constant that all elements of a slot are initialized with."""
        assigned = [
            use.op for use in self.view.users(slot) if self.view.type(use.op) in _ASSIGNMENTS and use.input == 0
        ]
        for op in assigned:
            value = self.view.number(self.view.inputs(op)[1])
            if value is not None:
                return float(value)
        raise _Refused(f"its slot `{slot}` is not initialized with a constant", slot)
