"""Finds the ops that divide the ids of tables into buckets, and whether they can give wide ids instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rewriter.facts import Table
from rewriter.graph.view import GraphView, Tensor, Use

__all__ = ["Bucketing", "find_buckets"]

#: Ops that hash, with the output that has the buckets.
_HASHES = {
    "StringToHashBucketFast": 0,
    "StringToHashBucketStrong": 0,
    "StringToHashBucket": 0,
    "SparseCross": 1,
}
_REMAINDER = "FloorMod"
#: Ops that hand ids on: by type, the input with the ids (None: each) and the output that they leave by.
_HANDS_ON: dict[str, tuple[int | None, int]] = {
    **dict.fromkeys(
        ["Identity", "Reshape", "ExpandDims", "Squeeze", "StopGradient", "Transpose", "StridedSlice", "Slice", "Tile"],
        (0, 0),
    ),
    **dict.fromkeys(["Unique", "UniqueV2", "Gather", "GatherV2", "GatherNd", "Cast"], (0, 0)),
    "SparseFillEmptyRows": (1, 1),
    "Pack": (None, 0),
    "ConcatV2": (None, 0),
}
#: Ops that read how many ids there are.
_COUNTS = ("Shape", "ShapeN", "Size", "Rank")
_GRADIENTS = re.compile("SparseSegment(Sum|Mean|SqrtN)GradV2")


@dataclass(frozen=True)
class Bucketing:
    """An op that divides ids into `buckets`, and what reads its `output`."""

    op: str
    output: Tensor
    buckets: int
    uses: tuple[Use, ...]
    #: The gradients of pooled lookups, which check that ids are rows of the variable.
    gradients: tuple[str, ...] = ()


def find_buckets(view: GraphView, tables: Sequence[Table]) -> tuple[list[Bucketing], dict[str, str]]:
    """Return the ops to widen, and for each of the tables that cannot give up its buckets the reason.

    All readers of a widened op lead to lookups and steps of tables that give up as many buckets.
    """
    reasons: dict[str, str] = {}
    while True:
        left = [table for table in tables if table.name not in reasons]
        found: dict[str, Bucketing] = {}
        fresh: dict[str, str] = {}
        for table in left:
            search = _Search(view, table, left)
            reason = search.reason()
            if reason:
                fresh[table.name] = reason
            found |= search.found
        if not fresh:
            return list(found.values()), reasons
        reasons |= fresh


class _Search:
    """Walks from the lookups of a table to the ops that made their ids, and on to all that these reach."""

    def __init__(self, view: GraphView, table: Table, others: Sequence[Table]) -> None:
        self._view, self._table = view, table
        self.found: dict[str, Bucketing] = {}
        alike = [one for one in others if one.rows == table.rows]
        self._steps = {op for one in alike for step in one.updates for op in (*step.ops, *step.arithmetic)}
        self._lookups = {op for one in alike for lookup in one.lookups for op in (lookup.op, *lookup.gathers)}

    def reason(self) -> str:
        """Return why the table keeps its buckets; "" if it does not."""
        if len(self._table.parts) > 1:
            return "its variable is in parts, which ids are divided into, too"
        if self._table.row_ops:
            return "its step is composed of reads and writes of rows"
        if any(lookup.product for lookup in self._table.lookups):
            return "its ids are columns of a sparse matrix"
        for lookup in self._table.lookups:
            for reason in self._origins(lookup.ids):
                return reason
        for op, one in [*self.found.items()]:
            gradients: list[str] = []
            for reason in self._readers(one, gradients):
                return reason
            self.found[op] = replace(one, gradients=tuple(gradients))
        return ""

    def _origins(self, ids: Tensor) -> Iterator[str]:
        """Note the ops that divide the ids; yield a reason for ids that come from elsewhere."""
        pending, known = [ids], set()
        while pending:
            tensor = pending.pop()
            if tensor in known:
                continue
            known.add(tensor)
            kind, inputs = self._view.type(tensor.op), self._view.inputs(tensor.op)
            buckets = self._buckets(tensor)
            if buckets == self._table.rows:
                uses = tuple(self._view.uses(tensor))
                self.found[tensor.op] = Bucketing(tensor.op, tensor, buckets, uses)
            elif buckets:
                yield f"`{tensor.op}` divides ids into {buckets} buckets, and the variable has {self._table.rows} rows"
            elif kind in _HANDS_ON and _HANDS_ON[kind][1] == tensor.output:
                carrying = _HANDS_ON[kind][0]
                pending += inputs[: len(inputs) - (kind == "ConcatV2")] if carrying is None else [inputs[carrying]]
            else:
                yield f"its ids come out of `{tensor.op}` ({kind}), which divides nothing into buckets"

    def _buckets(self, tensor: Tensor) -> int:
        """Return the number of buckets that an op divides into; 0 if it does not."""
        kind = self._view.type(tensor.op)
        if _HASHES.get(kind) == tensor.output:
            return int(self._view.attribute(tensor.op, "num_buckets").i)
        if kind != _REMAINDER or self._view.attribute(tensor.op, "T").type != 9:  # DT_INT64
            return 0
        divisor = self._view.number(self._view.inputs(tensor.op)[1])
        return 0 if divisor is None else int(divisor)

    def _readers(self, one: Bucketing, gradients: list[str]) -> Iterator[str]:
        """Yield a reason for each use of the ids, or of what hands them on, that is no lookup or step of such tables.

        The gradients of pooled lookups are noted.
        """
        pending, known = list(one.uses), set()
        hashed = self._view.type(one.op) != _REMAINDER
        while pending:
            use = pending.pop()
            if use in known or use.op in self._steps:
                continue
            known.add(use)
            kind = self._view.type(use.op)
            if use.op in self._lookups or kind in _COUNTS or (hashed and self._asks_sign(use)):
                continue
            if use.input == 1 and _GRADIENTS.fullmatch(kind):
                gradients.append(use.op)
                pending += self._view.uses(Tensor(use.op, 1))
                continue
            carrying, output = _HANDS_ON.get(kind, (-1, 0))
            if kind == "Cast" and self._view.attribute(use.op, "DstT").type != 9:
                yield f"`{use.op}` narrows the ids of `{one.op}` to 32 bits: look them up as tf.int64"
            elif carrying is None or carrying == use.input:
                pending += self._view.uses(Tensor(use.op, output))
            elif kind not in ("Gather", "GatherV2") or use.input != 1:
                yield f"the buckets of `{one.op}` are also read by `{use.op}` ({kind})"
            else:
                yield f"the buckets of `{one.op}` also pick rows in `{use.op}`, which stays or has other buckets"

    def _asks_sign(self, use: Use) -> bool:
        """Whether an op asks if ids are 0 or more, which hashes always are."""
        other = self._view.inputs(use.op)[1 - use.input] if self._view.type(use.op) == "GreaterEqual" else None
        return other is not None and use.input == 0 and self._view.number(other) == 0
