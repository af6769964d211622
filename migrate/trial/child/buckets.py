"""Counts the ids that share a row, where the graph hashes ids or takes a remainder before it looks rows up.

The side with tables says which tensors these are, since it knows the lookups; the original, whose graph is as it was
built, looks at their values in the first step of each of its turns, which is not timed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .noted import Noted
from .settings import Settings

_HASHES = re.compile(r"StringToHashBucket(Fast|Strong)?$|(Floor|Truncate)?Mod$")
#: Ops that hand ids on, some of them or in another order, from the input of the same number as the output, or input 0.
_THROUGH = re.compile(
    r"Identity$|Reshape$|Cast$|ExpandDims$|Squeeze$|UniqueV?2?$|Gather(V2)?$|StopGradient$|SparseFillEmptyRows$"
    r"|ConcatV2$|Pack$|Add(V2)?$|Maximum$|Minimum$|Select(V2)?$|Transpose$|StridedSlice$"
)


class Buckets:
    """The tensors of each table, and what was seen of them."""

    def __init__(self, settings: Settings, noted: Noted) -> None:
        self._settings, self._noted = settings, noted
        self._file = Path(settings.folder, "hashed.json")
        self._names: list[tuple[str, str, str, str]] | None = None

    def fetched(self, graph: Any) -> list[tuple[Any, Any]]:
        """Return the tensors before and after a hash or division that a step is to fetch besides."""
        if not self._settings.counts_ids:
            if self._noted.installed is not None and self._names is None:
                self._say(graph)
            return []
        if self._names is None and self._file.exists():
            said = json.loads(self._file.read_text(encoding="utf-8"))
            self._names = [tuple(one) for one in said["names"]]
            self._noted.hashes_in_input = said["in_input"]
        return [(graph.get_tensor_by_name(raw), graph.get_tensor_by_name(row)) for _, _, raw, row in self._names or ()]

    def note(self, values: list[tuple[Any, Any]]) -> None:
        """Note the values of what was fetched."""
        self._noted.batches += 1
        for (table, key, _, _), (raw, row) in zip(self._names or (), values, strict=True):
            rows = self._noted.raw.setdefault(table, {})
            for one, bucket in zip(raw.ravel().tolist(), row.ravel().tolist(), strict=True):
                rows.setdefault(f"{key}{bucket}", set()).add(one)

    def _say(self, graph: Any) -> None:
        """Write which tensors are to be looked at; again when another graph trains first is not needed."""
        found: dict[tuple[str, str, str, str], None] = {}
        for table in self._noted.installed.tables.values():
            for lookup in table.lookups:
                tensor = graph.get_tensor_by_name(str(lookup.ids))
                found.update(dict.fromkeys((table.name, *one) for one in _hashed(tensor)))
        self._names = list(found)
        functions = graph.as_graph_def(add_shapes=False).library.function
        in_input = any(_HASHES.match(node.op) for one in functions for node in one.node_def)
        partial = self._file.with_suffix(".tmp")
        partial.write_text(json.dumps({"names": self._names, "in_input": in_input}), encoding="utf-8")
        partial.replace(self._file)


def _hashed(tensor: Any) -> Iterator[tuple[str, str, str]]:
    """Yield key, name of the tensor before and after, of the hashes that ids come from; rows of a key are the same."""
    pending, known = [(tensor, "")], set()
    while pending:
        one, key = pending.pop()
        op = one.op
        if op.name in known:
            continue
        known.add(op.name)
        if _HASHES.match(op.type):
            if op.type.startswith("String") or op.inputs[1].shape.rank == 0:
                yield key and f"{op.name}:", op.inputs[0].name, op.outputs[0].name
        elif _THROUGH.match(op.type):
            # Behind a sum, features have rows of their own, each of which begin at another one.
            further = "+" if op.type.startswith("Add") else key
            number = one.value_index if op.type == "SparseFillEmptyRows" else 0
            several = op.type.startswith(("Add", "Concat", "Pack", "Select", "Max", "Min"))
            pending += [(each, further) for each in (op.inputs if several else [op.inputs[min(number, 1)]])]
