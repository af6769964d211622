"""Cuts the region around each table out of a plan: the ops that no longer run, the new ops and their neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from rewriter.analysis.savers import SaverPart
from rewriter.facts import Table
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.branches import ASKS
from rewriter.plan.plan import Plan
from rewriter.plan.region import ADDED, KEPT, REMOVED, Arrow, Box, Region

#: Maximum number of boxes by role; the last box stands for all further ops.
_BOXES = {"lookup": 3, "ids": 2, "reader": 3}


def with_regions(view: GraphView, plan: Plan) -> Plan:
    """Return the plan with the region of each table; `view` is the graph before the rewrite."""
    cuts = {table.name: _Cut(view, table) for table in plan.tables}
    for saver in plan.savers:
        for saved in saver.tables:
            cuts[saved.table].take_saver(saver, saved.assignments)
    for edit in plan.inputs:
        asked = view.type(edit.use.op) not in ASKS or view.users(edit.use.op)
        if edit.rule != "saver" and asked:  # a Saver's edit only concerns how other variables are restored
            cut = cuts.get(edit.table)
            if cut:
                cut.edits.append(_Edge(edit.old.rpartition(":")[0], edit.use.op, edit.by))
    for wait in plan.controls:
        for table in wait.table.split(", "):
            if table in cuts:
                cuts[table].edits += [_Edge(old, wait.op, wait.by, control=True) for old in wait.old or ("",)]
    for cut in cuts.values():
        cut.find()
    _find_edges(view, list(cuts.values()))
    return replace(plan, regions=tuple(cut.region() for cut in cuts.values()))


def _find_edges(view: GraphView, cuts: Sequence[_Cut]) -> None:
    """Find the edges inside each cut in one pass over all edges; an op of a Saver is in many cuts."""
    edges: dict[str, dict[int, _Cut]] = {}
    for number, cut in enumerate(cuts):
        for op, state in cut.states.items():
            if state != ADDED:
                edges.setdefault(op, {})[number] = cut
    for op, own in edges.items():
        reading = ((use.op, False) for use in view.users(op))
        for user, control in itertools.chain(reading, ((one, True) for one in view.waiting(op))):
            theirs = edges.get(user, {})
            few, many = (own, theirs) if len(own) < len(theirs) else (theirs, own)
            for number in few:
                if number in many:
                    few[number].between.setdefault(op, []).append((user, control))


@dataclass(frozen=True)
class _Edge:
    """An edge that an edit moves: `op` reads, or waits for, the part `by` instead of the op `old`."""

    old: str
    op: str
    by: str
    control: bool = False


@dataclass
class _Cut:
    """Collects the ops of a region by role; the first role that an op gets counts."""

    view: GraphView
    table: Table
    edits: list[_Edge] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    savers: list[SaverPart] = field(default_factory=list)
    restored: list[str] = field(default_factory=list)
    between: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)  # op -> its readers; True: waits only

    def take_saver(self, saver: SaverPart, assignments: Iterable[str]) -> None:
        self.savers.append(saver)
        self.restored += [op for op in assignments if op]

    def find(self) -> None:
        """Find the ops of the region."""
        self._removed()
        self._kept()
        self._added()

    def region(self) -> Region:
        """Return the region, once its ops and the edges between them are known."""
        boxes: dict[str, list[str]] = {}
        for op in self.roles:
            boxes.setdefault(self._box(op, boxes), []).append(op)
        number = {op: i for i, ops in enumerate(boxes.values()) for op in ops}
        region_boxes = (Box(tuple(ops), self.types[ops[0]], self.states[ops[0]]) for ops in boxes.values())
        arrows = dict.fromkeys(
            Arrow(number[start], number[end], state, control)
            for start, end, state, control in self._edges()
            if start in number and end in number and number[start] != number[end]
        )
        return Region(self.table.name, tuple(region_boxes), tuple(arrows))

    def _box(self, op: str, boxes: dict[str, list[str]]) -> str:
        """Return the name of the box for an op: its own as long as its role has room, then the last box of the role."""
        key = f"{self.roles[op]}/{self.states[op]}"
        room = _BOXES.get(self.roles[op], 1)
        taken = [name for name in (f"{key}/{i}" for i in range(room)) if name in boxes]
        return f"{key}/{len(taken)}" if len(taken) < room else taken[-1]

    def _take(self, state: str, role: str, *ops: str) -> None:
        for op in ops:
            if op not in self.roles:
                self.roles[op], self.states[op], self.types[op] = role, state, self.view.type(op)

    def _removed(self) -> None:
        table = self.table
        self._take(REMOVED, "variable", *self.parts)
        self._take(REMOVED, "slot", *table.slots)
        for update in table.updates:
            self._take(REMOVED, "update", *sorted(update.ops, key=lambda op: not self._writes(op)))
        self._take(REMOVED, "update", *(op for one in table.row_ops for op in (one.op, *one.results)))
        self._dead()  # first the arithmetic of the updates, because it reads slots, too
        moved = {edge.op for edge in self.edits if not edge.control} | {one.op for one in table.assigned}
        self._take(
            REMOVED, "lookup", *(op for one in table.lookups for op in (one.op, *one.gathers) if op not in moved)
        )
        self._take(REMOVED, "initializer", *(part.initializer for part in table.pieces))
        for saver in self.savers:
            self._take(REMOVED, "restore" if saver.restores else "save", saver.op)
        self._take(REMOVED, "restore", *self.restored)
        for variable in table.variables:
            for use in self.view.users(variable):
                if use.op not in moved:
                    self._take(REMOVED, self._part_of_use(variable, use.op), use.op)
        self._dead()

    @property
    def parts(self) -> list[str]:
        """The variables that the table replaces, whole or in parts."""
        return [part.name for part in self.table.pieces]

    def _writes(self, op: str) -> bool:
        return any(tensor.op in self.parts for tensor in self.view.inputs(op))

    def _part_of_use(self, variable: str, op: str) -> str:
        """Return the role of an op that reads a variable but is no lookup or update: an answer, or a read."""
        if any(self.roles.get(before) == "update" for before in self.view.controls(op)):
            return "update"
        if variable not in self.parts:
            return "slot"
        if op in {answer.op for answer in self.table.answers} and self.view.users(op):
            return "answer"
        return "read" if self.view.users(op) or self.view.waiting(op) else "variable"

    def _kept(self) -> None:
        """Add the ops that the parts read, and the ops that read or wait for the parts."""
        table = self.table
        self._take(KEPT, "lookup", *(one.op for one in table.lookups))
        self._take(KEPT, "ids", *(one.ids.op for one in table.lookups))
        for update in table.updates:
            self._take(KEPT, "gradient", *(tensor.op for piece in update.gradients for tensor in piece))
        self._take(KEPT, "initial", *(part.initial.op for part in table.pieces))
        for edge in self.edits:
            if edge.old:
                self._take(KEPT, f"waits {_kind(edge.by)}" if edge.control else "reader", edge.op)

    def _dead(self) -> None:
        """Add as removed the ops that only removed ops need, such as the arithmetic of an update."""
        pending = [op for op, state in self.states.items() if state == REMOVED]
        needed, savers = self._needed(), {saver.op for saver in self.savers}
        while pending:
            op = pending.pop()
            if self.roles[op] == "save":
                continue  # its inputs belong to all variables
            for before in dict.fromkeys((*(tensor.op for tensor in self.view.inputs(op)), *self.view.controls(op))):
                if before in self.roles or before in needed or not self._only_removed_need(before):
                    continue
                if all(use.op not in savers for use in self.view.users(before)):
                    self._take(REMOVED, self.roles[op], before)
                    pending.append(before)

    def _needed(self) -> set[str]:
        """Return the ops that the parts read, except those of Savers."""
        table = self.table
        needed = {*(part.initial.op for part in table.pieces), *(one.ids.op for one in table.lookups)}
        for update in table.updates:
            needed |= {tensor.op for piece in update.gradients for tensor in piece}
            needed |= {given.op for given in update.hyper if isinstance(given, Tensor)}
        needed |= {given.op for one in table.row_ops for given in (one.ids, one.value) if given is not None}
        return needed

    def _only_removed_need(self, op: str) -> bool:
        needing = itertools.chain((use.op for use in self.view.users(op)), self.view.waiting(op))
        return all(self.states.get(one) == REMOVED for one in needing)

    def _added(self) -> None:
        parts = [(self.table.name, "variable", "Table")]
        parts += [(f"{self.table.name}/lookup/{i}", "lookup", "sparse_lookup") for i in range(len(self.table.lookups))]
        parts += [
            (f"{self.table.name}/update/{i}", "update", f"update by {one.optimizer}")
            for i, one in enumerate(self.table.updates)
        ]
        parts += [
            (f"{self.table.name}/row/{i}", "update", f"{one.how} rows") for i, one in enumerate(self.table.row_ops)
        ]
        parts.append((f"{self.table.name}/initializer", "initializer", "initial rows"))
        for saver in self.savers:
            kind = "restore" if saver.restores else "save"
            parts.append((f"saver/{saver.op}", kind, "RestoreV2" if saver.restores else "SaveV2"))
            if saver.restores:
                parts.append((f"{self.table.name}/restore/{saver.op}", "restore", "restored rows"))
        answers = dict.fromkeys(edge.by for edge in self.edits if self.roles.get(edge.old) == "answer")
        parts += [(part, "answer", "Const") for part in answers]
        for part, role, kind in parts:
            key = _new(part)
            self.roles[key], self.states[key], self.types[key] = role, ADDED, kind

    def _edges(self) -> Iterator[tuple[str, str, str, bool]]:
        yield from self._old_edges()
        yield from self._new_edges()

    def _old_edges(self) -> Iterator[tuple[str, str, str, bool]]:
        cut = {(edge.old, edge.op, edge.control) for edge in self.edits}
        for op, state in self.states.items():
            if state == ADDED:
                continue
            for user, control in self.between.get(op, ()):
                gone = REMOVED in (state, self.states[user]) or (op, user, control) in cut
                yield op, user, REMOVED if gone else KEPT, control

    def _new_edges(self) -> Iterator[tuple[str, str, str, bool]]:
        name = self.table.name
        for key in [op for op, state in self.states.items() if state == ADDED and op != _new(name)]:
            if self.roles[key] != "answer":
                yield _new(name), key, ADDED, False
        for i, lookup in enumerate(self.table.lookups):
            yield lookup.ids.op, _new(f"{name}/lookup/{i}"), ADDED, False
        for i, update in enumerate(self.table.updates):
            for tensor in (tensor for piece in update.gradients for tensor in piece):
                yield tensor.op, _new(f"{name}/update/{i}"), ADDED, False
        for part in self.table.pieces:
            yield part.initial.op, _new(f"{name}/initializer"), ADDED, False
        for edge in self.edits:
            if self.states.get(edge.op) == KEPT:
                yield self._part(edge.by), edge.op, ADDED, edge.control

    def _part(self, by: str) -> str:
        """Return the added op that a part is, or belongs to."""
        while by and _new(by) not in self.roles:
            by = by.rpartition("/")[0]
        return _new(by)


def _new(part: str) -> str:
    """Return a part's name that differs from op names: a table has the name of its variable."""
    return f"+{part}"


def _kind(part: str) -> str:
    kinds = ("initializer", "update", "restore", "saver")
    return next((kind for kind in kinds if f"/{kind}/" in f"/{part}/"), part)
