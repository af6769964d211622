"""The original and the rewritten graph side by side, with a map from tensors to their counterparts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from rewriter.facts import Table, Update
from rewriter.graph.reasons import reason_of
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.pooled import PRODUCT, SEGMENTS
from rewriter.pipeline import PipelinePlan
from rewriter.plan.plan import Plan
from rewriter.proof.recording import maybe_dead, tensor_of
from rewriter.proof.replay import Side, elements

__all__ = ["LOOKUPS", "MovedTable", "MovedUpdate", "PairedGraphs"]

_HANDLE = "RecTableHandle"
#: Op types that look rows up in a table.
LOOKUPS = ("RecLookupOrInsert", "RecLookup")
_UPDATE = "RecApply"


@dataclass(frozen=True)
class MovedUpdate:
    """The op that updates the table, with inputs handle, indices, values and hyperparameters."""

    op: str
    stock: Update


@dataclass(frozen=True)
class MovedTable:
    """A table of the plan with its ops in the rewritten graph; `base` is their name scope."""

    table: Table
    base: str
    lookups: tuple[str, ...]
    updates: tuple[MovedUpdate, ...]

    @property
    def handle(self) -> str:
        """The variable that is true once the table is filled."""
        return f"{self.base}/handle"

    def lookup_of(self, op: str) -> str:
        """Return the op that replaces a lookup of the original."""
        return self.lookups[[lookup.op for lookup in self.table.lookups].index(op)]


class PairedGraphs:
    """The two graphs. Tensors correspond as the plan says; all others correspond by name."""

    def __init__(self, original: Any, moved: Any, plan: Plan, pipeline: PipelinePlan | None = None) -> None:
        """Import two GraphDefs; `pipeline` is the plan of what moved into datasets.

        Raises:
            ValueError: the rewritten graph does not have the tables, lookups and updates of the plan.
        """
        self.plan = plan
        gone = [name for table in plan.tables for name in table.variables]
        self.original, self.moved = Side(original), Side(moved, gone)
        #: Recorded inputs of initial values, such as results of Python functions.
        self.started: Mapping[str, Any] = {}
        self.tables = _tables(self.moved.view, plan)
        #: Tensors of the rewritten graph that replace rows, elements of iterators, and values that datasets compute.
        self._moved_to = elements(self.moved.view, pipeline)
        # Results of inlined functions; lookups in their bodies have no counterpart in the original.
        self._moved_to |= {tensor_of(old): tensor_of(new) for old, new in plan.inlined}
        for moved_table in self.tables:
            for lookup, op in zip(moved_table.table.lookups, moved_table.lookups, strict=True):
                stock = self.original.view
                if lookup.op in stock and stock.type(lookup.op) not in (*SEGMENTS, PRODUCT):
                    same = moved_table.table.is_matrix
                    self._moved_to[lookup.rows] = Tensor(op) if same else self._instead_of(lookup.rows, Tensor(op))

    def _instead_of(self, rows: Tensor, usual: Tensor) -> Tensor:
        """Return what the readers of looked-up rows read now: the output of the lookup, or rows made of it."""
        view = self.moved.view
        reads = (edit.use for edit in self.plan.inputs if edit.old == str(rows) and edit.use.op in view)
        return next((view.inputs(use.op)[use.input] for use in reads), usual)

    def start(self) -> None:
        """Begin new sessions of both graphs with the same initial values.

        Raises:
            ValueError: an initial value of the original cannot be computed.
        """
        try:
            self.started = self.original.start(self.started)
            self.moved.start(self.started)
        except tf.errors.OpError as error:
            raise ValueError(f"the initial values cannot be computed: {reason_of(error)}") from error

    def stock_rows(self, table: Table, keys: Any, slot: int | None = None) -> Any:
        """Return the rows of these ids of a variable of the original, or of one of its slots."""
        return self.rows_of(self.original, table, keys, slot)

    @staticmethod
    def rows_of(side: Side, table: Table, keys: Any, slot: int | None = None) -> Any:
        """Return the same from another run of the original, on `side`: as a table has them, [ids, dim]."""
        names = [part.name if slot is None else part.slots[slot] for part in table.pieces]
        if len(names) == 1:
            return side.rows(names[0], keys).reshape(len(keys), table.dim)
        rows = np.empty([table.rows, table.dim], np.float32)
        rows[_ids_of_rows(table)] = np.concatenate([side.variable(name) for name in names]).reshape(-1, table.dim)
        return rows[keys]

    def close(self) -> None:
        """End both sessions."""
        self.original.close()
        self.moved.close()

    def counterpart(self, tensor: Tensor) -> Tensor | None:
        """Return the counterpart of a tensor of the original; None if it has none."""
        counterpart = self._moved_to.get(tensor, tensor)
        return counterpart if counterpart.op in self.moved.view else None

    @functools.cached_property
    def dead(self) -> tuple[set[str], set[str]]:
        """The ops of each graph that may not be fetched."""
        return maybe_dead(self.original.view), maybe_dead(self.moved.view)

    @functools.cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables that exist in both graphs."""
        return tuple(name for name in self.moved.variables if name in self.original.variables)

    def table_of(self, op: str) -> MovedTable | None:
        """Return the table whose lookup or update an op of the original belongs to."""
        return self._by_op.get(op)

    def read_by(self, table: MovedTable, lookup: str) -> MovedTable | None:
        """Return the table that the replacement of `lookup` reads, which should be `table`."""
        read = self.moved.view.ancestors([self.moved.view.inputs(table.lookup_of(lookup))[0]])
        return next((one for one in self.tables if one.handle in read or f"{one.base}/created" in read), None)

    def stock_of(self, op: str) -> str:
        """Return the op of the original that an op of the rewritten graph replaces; by default the op itself."""
        for table in self.tables:
            stock = dict(zip(table.lookups, (lookup.op for lookup in table.table.lookups), strict=True))
            stock |= {update.op: update.stock.ops[0] for update in table.updates}
            if op in stock:
                return stock[op]
        return op

    @functools.cached_property
    def _by_op(self) -> dict[str, MovedTable]:
        tables: dict[str, MovedTable] = {}
        for moved in self.tables:
            for update in moved.updates:
                tables |= dict.fromkeys(update.stock.ops, moved)
            tables |= {lookup.op: moved for lookup in moved.table.lookups}
        return tables


def _tables(view: GraphView, plan: Plan) -> list[MovedTable]:
    handles = {
        str(view.attribute(op, "table_name").s.decode()): op.removesuffix("/created") for op in view.of_type(_HANDLE)
    }
    missing = [table.name for table in plan.tables if table.name not in handles]
    if missing:
        raise ValueError(
            f"the rewritten graph has no table `{missing[0]}`: give the graph that this plan was applied to"
        )
    bases = sorted(handles.values(), key=len, reverse=True)
    ops: dict[str, list[str]] = {}
    for op in (name for name in view.nodes if view.type(name) in (*LOOKUPS, _UPDATE)):  # in order of creation
        base = next((one for one in bases if op.startswith(f"{one}/")), None)
        if base is not None:
            ops.setdefault(base, []).append(op)
    return [_moved(view, table, handles[table.name], ops.get(handles[table.name], [])) for table in plan.tables]


def _moved(view: GraphView, table: Table, base: str, ops: Iterable[str]) -> MovedTable:
    ops = list(ops)
    lookups = [op for op in ops if view.type(op) in LOOKUPS and not view.attribute(op, "in_place").b]
    updates = [op for op in ops if view.type(op) == _UPDATE]
    if (len(lookups), len(updates)) != (len(table.lookups), len(table.updates)):
        raise ValueError(
            f"the table `{table.name}` has {len(lookups)} lookups and {len(updates)} updates in the rewritten graph "
            f"and {len(table.lookups)} and {len(table.updates)} in the plan: give the graph that the plan "
            "was applied to"
        )
    moved = tuple(MovedUpdate(op, stock) for op, stock in zip(updates, table.updates, strict=True))
    return MovedTable(table, base, tuple(lookups), moved)


def _ids_of_rows(table: Table) -> Any:
    """Return the ids of the rows of a partitioned variable whose parts are concatenated."""
    if table.strategy != "mod":
        return np.arange(table.rows)
    return np.concatenate([np.arange(part, table.rows, len(table.parts)) for part in range(len(table.parts))])
