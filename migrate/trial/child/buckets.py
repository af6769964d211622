"""Counts the ids that share a row, where the graph hashes ids or takes a remainder before it looks rows up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .noted import Noted

_HASHES = re.compile(r"StringToHashBucket(Fast|Strong)?$|(Floor|Truncate)?Mod$")
#: Ops that hand ids on, some of them or in another order, from the input of the same number as the output, or input 0.
_THROUGH = re.compile(
    r"Identity$|Reshape$|Cast$|ExpandDims$|Squeeze$|UniqueV?2?$|Gather(V2)?$|StopGradient$|SparseFillEmptyRows$"
    r"|ConcatV2$|Pack$|Add(V2)?$|Maximum$|Minimum$|Select(V2)?$|Transpose$|StridedSlice$"
)
_SEVERAL = ("Add", "Concat", "Pack", "Select", "Max", "Min")


class Buckets:
    """The ids that the tables of a graph are asked for, those from which they are hashed, and what was seen of them."""

    def __init__(self, noted: Noted) -> None:
        self._noted = noted
        self._known: dict[tuple[int, ...], tuple[list[Any], list[Any]]] = {}
        self._ids: dict[str, set[int]] = {}

    def fetched(self, graph: Any, asked: Any) -> Any:
        """Return the tensors that a step which runs these ops is to fetch besides."""
        ids, hashed = self._of(graph, asked)
        return [[one for _, one, _ in ids], [pair for _, _, *pair in hashed]]

    def _of(self, graph: Any, asked: Any) -> Any:
        key = id(graph), id(asked)
        if key not in self._known:
            ids: dict[tuple[str, Any, bool], None] = {}
            for table in self._noted.installed.tables.values():
                for lookup in table.lookups:
                    tensor = graph.get_tensor_by_name(str(lookup.ids))
                    # One of a branch or loop cannot be fetched.
                    if tensor.op.name in asked.ops and tensor.op._get_control_flow_context() is None:
                        ids[table.name, tensor, lookup.product] = None
            hashed = dict.fromkeys((name, *one) for name, tensor, _ in ids for one in _hashed(tensor))
            self._known[key] = [*ids], [*hashed]
            functions = graph.as_graph_def().library.function
            self._noted.hashes_in_input |= any(
                node.op.startswith("StringToHash") for one in functions for node in one.node_def
            )
        return self._known[key]

    def note(self, graph: Any, asked: Any, values: Any) -> None:
        """Note the values of what was fetched."""
        ids, hashed = self._of(graph, asked)
        for (table, _, product), found in zip(ids, values[0], strict=True):
            self._ids.setdefault(table, set()).update((found[:, 1] if product else found).ravel().tolist())
        for (table, key, _, _), (raw, row) in zip(hashed, values[1], strict=True):
            rows = self._noted.raw.setdefault(table, {})
            for one, bucket in zip(raw.ravel().tolist(), row.ravel().tolist(), strict=True):
                rows.setdefault(f"{key}{bucket}", Counter())[one] += 1
        for table, seen in self._ids.items():
            self._noted.needed.setdefault(table, {})[len(self._noted.seconds) - 1] = len(seen)


def _hashed(tensor: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield key, and the tensor before and after, of the hashes that ids come from; rows of a key are the same."""
    pending, known = [(tensor, "")], set()
    while pending:
        one, key = pending.pop()
        op = one.op
        if op.name in known:
            continue
        known.add(op.name)
        if _HASHES.match(op.type):
            if op.type.startswith("String") or op.inputs[1].shape.rank == 0:
                yield key and f"{op.name}:", op.inputs[0], op.outputs[0]
        elif _THROUGH.match(op.type):
            # Behind a sum features have rows of their own, those of each begin at another one.
            further = "+" if op.type.startswith("Add") else key
            number = one.value_index if op.type == "SparseFillEmptyRows" else 0
            given = op.inputs if op.type.startswith(_SEVERAL) else [op.inputs[min(number, 1)]]
            pending += [(each, further) for each in given]
