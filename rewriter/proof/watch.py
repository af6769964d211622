"""Selects what is compared at a step: ids, rows, losses and dense gradients, as pairs of tensors of the two graphs."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter.analysis.candidates import VARIABLES
from rewriter.facts import Lookup
from rewriter.graph.view import GraphView, Tensor
from rewriter.proof.paired_graphs import PairedGraphs
from rewriter.proof.recording import GIVERS, Step, alive, needed, tensor_of

__all__ = ["Pair", "Watch", "Watched", "keys_of", "no_array", "writers", "written"]

_DENSE, _ROWS = "dense gradients", "gradients of rows"
_GRADIENTS = ("grad", "delta", "updates")
# The op that `tf.gradients` differentiates: its first gradient op is named after it and starts with a one.
_START = re.compile(r"(?:.*/)?gradients(?:_\d+)?/(?P<op>.+?)_grad/")


@dataclass(frozen=True)
class Pair:
    """A tensor of the original graph and its counterpart, which must be equal; `item` is its name in the report.

    `row` is the shape of the variable's rows, if the tensors are a gradient of rows; `lookup` has the tensors as ids.
    """

    kind: str
    item: str
    original: Tensor
    moved: Tensor
    consumer: str
    row: tuple[int, ...] | None = None
    lookup: Lookup | None = None

    def of_table(self, original: Any) -> Any:
        """Return the original's value as the table has it: the keys of a lookup's ids, or rows [n, dim]."""
        if self.lookup is not None:
            return keys_of(self.lookup, original)
        return original if self.row is None else original.reshape(-1, math.prod(self.row))


@dataclass(frozen=True)
class Watched:
    """The pairs of a step: `before` are compared before a write, `within` during the step itself.

    `forced` are the gradients by which the step changes variables. Once they have been compared, the original's are fed
    to the rewritten graph, too: an optimizer that divides by the size of a gradient turns a last-digit difference of a
    gradient near zero into one as large as its learning rate, in any two runs of one model.
    """

    before: tuple[Pair, ...]
    within: tuple[Pair, ...]
    forced: tuple[str, ...]


class Watch:
    """Finds the pairs of a step; steps with equal fetches share them."""

    def __init__(self, graphs: PairedGraphs, losses: Collection[str] = ()) -> None:
        """Take both graphs, and the names of tensors that are losses besides the floats that a step fetches."""
        self._graphs = graphs
        self._losses = tuple(losses)
        self._found: dict[tuple[frozenset[str], frozenset[str]], Watched] = {}

    def of(self, step: Step) -> Watched:
        """Return what to compare in a run of this step."""
        key = frozenset(step.fetches), frozenset(step.feeds)
        if key not in self._found:
            ops = needed(
                self._graphs.original.view, filter(self._graphs.original.__contains__, step.fetches), step.feeds
            )
            self._found[key] = self._watched(step, ops)
        return self._found[key]

    def _watched(self, step: Step, ops: Collection[str]) -> Watched:
        steps = (*self._updates(ops), *self._row_writes(ops))
        pairs = (*self._lookups(ops), *self._floats(step, ops), *self._gradients(ops), *steps)
        late = [
            set(side.view.descendants(written(side.view, side.view.nodes)))
            for side in (self._graphs.original, self._graphs.moved)
        ]
        within = tuple(one for one in pairs if one.original.op in late[0] or one.moved.op in late[1])
        gradients = [one for one in pairs if one.kind in (_DENSE, _ROWS) and one not in within]
        if self._graphs.plan.rows or any(table.table.row_ops for table in self._graphs.tables):
            gradients = []  # a step that is fed them would not wait for the lookups that they are computed from
        forced = dict.fromkeys(str(one.original) for one in gradients)
        return Watched(tuple(one for one in pairs if one not in within), within, tuple(forced))

    def _lookups(self, ops: Collection[str]) -> Iterator[Pair]:
        """Yield the pairs of ids, then of rows."""
        rows: list[Pair] = []
        dead, moved_dead = self._graphs.dead
        for table in self._graphs.tables:
            for lookup, op in zip(table.table.lookups, table.lookups, strict=True):
                if lookup.op not in ops:
                    continue
                ids = alive(self._graphs.original.view, lookup.ids, dead)
                keys = alive(self._graphs.moved.view, self._graphs.moved.view.inputs(op)[2], moved_dead)
                if ids and keys:
                    yield Pair("ids", lookup.op, ids, keys, lookup.op, lookup=lookup)
                other = self._graphs.counterpart(lookup.rows)
                if other and lookup.op not in dead and other.op not in moved_dead:
                    rows.append(Pair("rows looked up", lookup.op, lookup.rows, other, lookup.op))
        yield from rows

    def _floats(self, step: Step, ops: Collection[str]) -> Iterator[Pair]:
        """Yield the floats that a step fetches and that depend on a table, and losses that it computes."""
        view = self._graphs.original.view
        fetched = [one for one in step.fetches if ":" in one and one in self._graphs.original]
        losses = [one for one in (*self._losses, *self._starts(ops)) if self._computable(one, step, ops)]
        tables = {table.table.name for table in self._graphs.tables}
        for name in dict.fromkeys([*fetched, *losses]):
            tensor = tensor_of(name)
            element = self._graphs.original.graph.get_tensor_by_name(name)
            depends = not tables.isdisjoint(view.ancestors([tensor]))
            other = self._graphs.counterpart(tensor)
            if depends and other and element.dtype.is_floating and tensor.op not in self._graphs.dead[0]:
                scalar = element.shape.rank == 0 or name in losses
                yield Pair("losses" if scalar else "fetched tensors", name, tensor, other, tensor.op)

    def _computable(self, name: str, step: Step, ops: Collection[str]) -> bool:
        """Whether a tensor can be computed from a step's data: a train op runs gradients, but not the loss itself."""
        view = self._graphs.original.view
        further = [op for op in needed(view, [name], step.feeds) if op not in ops]
        return not any(view.type(op) in (*GIVERS, "Placeholder") for op in further)

    def _starts(self, ops: Collection[str]) -> Iterator[str]:
        """Yield the tensors that `tf.gradients` differentiates."""
        view = self._graphs.original.view
        for op in view.of_type("Fill"):
            if op in ops and re.search(r"(^|/)grad_ys_\d+$", op):
                for use in view.users(op):
                    match = _START.match(use.op)
                    name = f"{match['op']}:0" if match else ""
                    if match and name in self._graphs.original:
                        yield name

    def _gradients(self, ops: Collection[str]) -> Iterator[Pair]:
        moved_view, graph = self._graphs.moved.view, self._graphs.original.graph
        for op, variable in writers(self._graphs.original.view, ops).items():
            if variable not in self._graphs.variables or op not in moved_view or op in self._graphs.dead[0]:
                continue
            element = graph.get_operation_by_name(op)
            for number, argument in enumerate(element.op_def.input_arg):
                if argument.name in _GRADIENTS and element.inputs[number].dtype.is_floating:
                    original = self._graphs.original.view.inputs(op)[number]
                    yield Pair(_DENSE, variable, original, moved_view.inputs(op)[number], op)

    def _updates(self, ops: Collection[str]) -> Iterator[Pair]:
        """Yield the ids whose rows are updated, and the gradients of these rows."""
        dead, moved_dead = self._graphs.dead
        for table in self._graphs.tables:
            for update in table.updates:
                op = update.stock.ops[0]
                if op not in ops or op in dead or update.op in moved_dead:
                    continue
                _, indices, values, _ = self._graphs.moved.view.inputs(update.op)
                # Pieces are compared by themselves, as the rewritten graph concatenates them.
                of_pieces = bool(update.stock.pieces)
                pairs = [
                    (rows, rows if of_pieces else indices, given, given if of_pieces else values)
                    for given, rows in update.stock.gradients
                ]
                for stock_indices, moved_indices, stock_values, moved_values in pairs:
                    for kind, original, moved in (
                        ("updated ids", stock_indices, moved_indices),
                        (_ROWS, stock_values, moved_values),
                    ):
                        # Results of inlined functions have other names in the original.
                        if str(original) in self._graphs.original:
                            row = table.table.row if kind == _ROWS and not update.stock.pieces else None
                            yield Pair(kind, table.table.name, original, moved, op, row)

    def _row_writes(self, ops: Collection[str]) -> Iterator[Pair]:
        """Yield the ids whose rows a composed step writes, and what it writes."""
        for table in self._graphs.tables:
            for write in table.table.row_ops:
                if write.value is None or write.op not in ops or write.op in self._graphs.dead[0]:
                    continue
                for kind, original in (("updated ids", write.ids), (_ROWS, write.value)):
                    moved = self._graphs.counterpart(original)
                    if moved is not None and moved.op not in self._graphs.dead[1]:
                        yield Pair(kind, table.table.name, original, moved, write.op)


def keys_of(lookup: Lookup, ids: Any) -> Any:
    """Return the keys that a table is looked up by where the original is given these ids."""
    return ids[..., 0] if lookup.nested else ids[:, 1] if lookup.product else ids


def written(view: GraphView, ops: Collection[str]) -> list[str]:
    """Return those of the ops that change variables or rows of tables."""
    return [*writers(view, ops), *(op for op in ops if view.type(op) in ("RecApply", "RecWriteColumn"))]


def writers(view: GraphView, ops: Collection[str]) -> dict[str, str]:
    """Return those of the ops that write a variable, with the variable."""
    variables = {}
    for op in ops:
        inputs = view.inputs(op)
        if not inputs or view.type(inputs[0].op) not in VARIABLES:
            continue
        kind = view.type(op)
        if kind.removeprefix("Resource").startswith(("Apply", "Assign", "Scatter", "SparseApply")):
            variables[op] = inputs[0].op
    return variables


def no_array(tensor: tf.Tensor) -> bool:
    """Whether a tensor's value cannot be fetched as a single array."""
    return tensor.dtype in (tf.resource, tf.variant) or tensor.dtype.name.endswith("_ref")
