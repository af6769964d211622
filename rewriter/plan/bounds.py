"""What bounds the ids of a table, for people: buckets, a vocabulary, a range, or nothing, so that it grows."""

from __future__ import annotations

import functools
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from rewriter.facts import Bound, Table
from rewriter.graph.view import GraphView, Tensor
from rewriter.plan.buckets import HANDS_ON, HASHES, REMAINDERS, Shown
from rewriter.plan.datasets import Wide, find_wide
from rewriter.plan.plan import Plan

#: A hash modulo a greater number bounds nothing that memory holds.
_WIDE = 2**48
#: What may bound ids, what says most first: of a vocabulary, the words that are not in it go to buckets.
_BY = ("", "unknown", "vocabulary", "dataset", "buckets", "range")
#: Ops whose values are those of the data: what is fed, read or parsed.
_DATA = (
    *("Placeholder", "PlaceholderV2", "OptionalGetValue"),
    *("ParseExample", "ParseExampleV2", "ParseSingleExample", "DecodeCSV", "DecodeRaw", "StringToNumber", "Unstage"),
    *("QueueDequeueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2", "ParseSequenceExample", "ParseSequenceExampleV2"),
)
_DATASETS = ("IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional")
_VOCABULARIES = ("LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2")
#: Ops whose values lie in a range that the graph states.
_RANGES = (
    *("Bucketize", "Range", "Where", "ArgMax", "ArgMin", "RandomUniformInt", "BitwiseAnd", "ClipByValue", "Shape"),
    *("TopKV2", "Minimum"),
)
#: Ops that hand on, or move, what they read: by type, the inputs with the ids.
_HANDS_ON: dict[str, slice] = {
    **{kind: carrying for kind, (carrying, _) in HANDS_ON.items()},
    **dict.fromkeys(["Abs", "BroadcastTo", "PlaceholderWithDefault", "Switch", "Enter", "Exit"], slice(1)),
    "SparseReorder": slice(1, 2),
    **dict.fromkeys(["Merge", "Add", "AddV2", "Sub", "Mul", "FloorDiv", "Maximum"], slice(None)),
}
_COMPARES = ("Less", "LessEqual", "Greater", "GreaterEqual")


def with_bounds(view: GraphView, plan: Plan, wide: Wide, ran: Collection[str] = ()) -> Plan:
    """Return the plan with what bounds the ids of each table, and whether the setting `unbucket` would end that.

    Tables with that setting have given up their buckets as `wide` says. Sessions have `ran` some ops; see `find_wide`.
    """
    walk = _Walk(view)
    bounds = {table.name: walk.bound(table) or Bound("range") for table in plan.tables}
    kept = find_wide(view, [one for one in plan.tables if bounds[one.name].by and not one.settings.unbucket], ran)
    reasons = {name: _before(bound) for name, bound in _left(kept).items() if bound.by not in ("", "unknown")}
    reasons |= kept.kept
    bounds |= _left(wide)
    return replace(plan, tables=tuple(_with_bound(table, bounds[table.name], reasons) for table in plan.tables))


def _left(wide: Wide) -> dict[str, Bound]:
    """Return by the names of tables what bounds their ids once these have given up their buckets."""
    bounds: dict[str, Bound] = {}
    for group, chain in wide.groups:
        walk = _Walk(wide.view, wide.shown, group.bucketings, chain.copied)
        bounds |= {name: walk.bound(table) or Bound() for name, table in group.tables.items()}
    return bounds


def _before(bound: Bound) -> str:
    return f"`{bound.op}` ({bound.kind}) bounds them before that"


def _with_bound(table: Table, bound: Bound, kept: Mapping[str, str]) -> Table:
    if table.settings.unbucket or not bound.by:
        return replace(table, bound=bound)
    reason = table.buckets_kept or kept.get(table.name, "")
    return replace(
        table, bound=replace(bound, frees=not reason, reason="" if bound.by in ("range", "unknown") else reason)
    )


class _Walk:
    """Walks from lookups to the ops that made their ids."""

    def __init__(
        self, view: GraphView, shown: Shown | None = None, divided: Container[str] = (), wide: Container[str] = ()
    ) -> None:
        """Show a graph, with what is `shown` of datasets.

        Ops that `divided` ids into buckets do so no more, and those that are `wide` bound none of these.
        """
        self._view, self._shown, self._divided, self._wide = view, shown or Shown(), divided, wide

    def bound(self, table: Table) -> Bound | None:
        """Return what bounds the ids of all lookups of a table; where some have no bound, it grows by these.

        None stands for ids that are the same at each step.
        """
        starts = (self._shown.names.get(lookup.ids, lookup.ids) for lookup in table.lookups)
        bounds = {bound.by: bound for ids in starts for bound in self._origins(ids, table.rows)}
        return next((bounds[by] for by in _BY if by in bounds), None)

    def _origins(self, ids: Tensor, rows: int) -> Iterator[Bound]:
        """Yield what bounds each of the tensors that ids come from; constants beside others bound nothing."""
        pending, known = [ids], {ids}
        while pending:
            tensor = pending.pop()
            kind, inputs = self._view.type(tensor.op), self._view.inputs(tensor.op)
            by = self._by(tensor.op, kind, rows)
            if by is not None:
                yield Bound(by, tensor.op, kind)
            elif kind != "Const":
                further = {*inputs[_HANDS_ON.get(kind, slice(1))]} - known
                pending += further
                known |= further

    def _by(self, op: str, kind: str, rows: int) -> str | None:
        """Return what an op bounds ids by; None if it only hands them on."""
        view = self._view
        if op in self._divided or op in self._wide:
            return "" if kind in (*HASHES, *_VOCABULARIES) else None
        if op in self._shown.closed and kind not in (*HASHES, *REMAINDERS):
            return None if kind in _HANDS_ON or kind == "Const" else ""
        if kind in HASHES:
            return "buckets" if view.attribute(op, "num_buckets").i < _WIDE else ""
        if kind in REMAINDERS:
            divisor = view.number(view.inputs(op)[1])
            return "unknown" if divisor is None else "buckets" if abs(divisor) < _WIDE else None
        if kind in _DATASETS:
            return "dataset" if rows in self._buckets_of_functions else ""
        if kind in _RANGES or (kind.startswith("Select") and self._compares(view.inputs(op)[0])):
            return "range"
        for by, kinds in (("", _DATA), ("vocabulary", _VOCABULARIES)):
            if kind in kinds:
                return by
        return None if kind in _HANDS_ON or kind == "Const" else "unknown"

    def _compares(self, condition: Tensor) -> bool:
        """Whether a condition asks if a value is below a constant, such as the number of rows."""
        view = self._view
        parts = view.ancestors([condition], lambda op: not view.type(op).startswith("Logical"))
        return any(view.type(op) in _COMPARES and self._is_limit(view.inputs(op)[1]) for op in parts)

    def _is_limit(self, tensor: Tensor) -> bool:
        if self._view.type(tensor.op) == "Cast":
            (tensor,) = self._view.inputs(tensor.op)
        return (self._view.number(tensor) or 0) > 1

    @functools.cached_property
    def _buckets_of_functions(self) -> frozenset[int]:
        """The numbers of buckets that functions of the graph, such as those of datasets, hash or divide into."""
        numbers = set()
        for function in self._view.functions.values():
            nodes = {node.name: node for node in function.node_def}
            for node in nodes.values():
                if node.op in HASHES:
                    numbers.add(int(node.attr["num_buckets"].i))
                elif node.op in REMAINDERS:
                    numbers.add(_number(nodes.get(node.input[1].partition(":")[0])))
        return frozenset(numbers - {0})


def _number(node: Any) -> int:
    """Return the number of a constant of a function; 0 for another node."""
    if node is None or node.op != "Const":
        return 0
    value = tf.make_ndarray(node.attr["value"].tensor)
    return int(value) if value.size == 1 and value.dtype.kind in "iu" else 0
