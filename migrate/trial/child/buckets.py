"""Counts the ids that share a row, where the graph hashes, divides or crosses ids, or has a vocabulary for them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from rewriter.plan.buckets import BOUNDS, HANDS_ON, HASHES, REMAINDERS
from rewriter.plan.vocabularies import FINDS

from .noted import Noted

_CROSS = "SparseCross"
_MOVES = ("Add", "AddV2")
_CHOOSE = ("Select", "SelectV2")
_NOTHING: tuple[slice, slice] = (slice(0), slice(0))
_OUTPUTS = range(2**31)


class Buckets:
    """The ids that the tables of a graph are asked for, those from which they are hashed, and what was seen of them."""

    def __init__(self, noted: Noted) -> None:
        self._noted = noted
        self._known: dict[tuple[int, ...], tuple[list[Any], list[Any]]] = {}
        self._ids: dict[str, set[int]] = {}

    def fetched(self, graph: Any, asked: Any) -> Any:
        """Return the tensors that a step which runs these ops is to fetch besides."""
        ids, hashed = self._of(graph, asked)
        return [[one for _, one, _ in ids], [[_made_of(op), after] for _, _, op, after in hashed]]

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
            self._noted.hashes_in_input |= any(node.op in HASHES for one in functions for node in one.node_def) or any(
                table.bound.by == "dataset" for table in self._noted.installed.tables.values()
            )
        return self._known[key]

    def note(self, graph: Any, asked: Any, values: Any) -> None:
        """Note the values of what was fetched."""
        ids, hashed = self._of(graph, asked)
        for (table, _, product), row_values in zip(ids, values[0], strict=True):
            self._ids.setdefault(table, set()).update((row_values[:, 1] if product else row_values).ravel().tolist())
        for (table, key, op, _), (raw, row) in zip(hashed, values[1], strict=True):
            rows = self._noted.raw.setdefault(table, {})
            words = _crossed(op, raw) if op.type == _CROSS else raw.ravel().tolist()
            for word, bucket in zip(words, row.ravel().tolist(), strict=True):
                rows.setdefault(f"{key}{bucket}", Counter())[word] += 1
        for table, seen in self._ids.items():
            self._noted.needed.setdefault(table, {})[len(self._noted.seconds) - 1] = len(seen)


def _hashed(tensor: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield key, the op that has the ids as they were before, and the ids after it; rows of a key are the same."""
    pending, known = [(tensor, "")], set()
    while pending:
        source, key = pending.pop()
        op = source.op
        if op.name in known:
            continue
        known.add(op.name)
        find = _find_behind(op)
        if find is not None:
            yield key and f"{op.name}:", find, source
        elif op.type in HASHES or (op.type in REMAINDERS and op.inputs[1].shape.rank == 0):
            yield key and f"{op.name}:", op, op.outputs[HASHES.get(op.type, 0)]
        else:
            # Behind a sum features have rows of their own, those of each begin at another one.
            pending += [(each, "+" if op.type in _MOVES else key) for each in _before(source)]


def _before(tensor: Any) -> list[Any]:
    """Return the tensors that an op hands on, or moves, as this output."""
    op = tensor.op
    if op.type in (*_MOVES, *BOUNDS):
        return list(op.inputs)
    carrying, outputs = HANDS_ON.get(op.type, _NOTHING)
    return list(op.inputs)[carrying] if tensor.value_index in _OUTPUTS[outputs] else []


def _find_behind(op: Any) -> Any:
    """Return the op that looks up the words whose ids an op gives, those of other words among them; or None."""
    if op.type in FINDS:
        other = tf.get_static_value(op.inputs[2])
        return op if other is not None and other >= 0 else None
    pending, known = [*op.inputs[1:3]] if op.type in _CHOOSE else [], set()
    while pending:
        current = pending.pop()
        if current.op.type in FINDS:
            same = current.op.inputs[1].shape.rank is not None and current.shape.rank == op.outputs[0].shape.rank
            return current.op if same else None
        pending += [each for each in _before(current) if each.name not in known]
        known |= {each.name for each in _before(current)}
    return None


def _made_of(op: Any) -> Any:
    """Return the tensors with the ids before an op: all inputs of a cross."""
    return list(op.inputs) if op.type == _CROSS else op.inputs[1 if op.type in FINDS else 0]


def _crossed(op: Any, inputs: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the ids that a cross combines, in the order of its results."""
    count = op.get_attr("N")
    dense = inputs[3 * count :]
    size = int(inputs[2 * count][0]) if count else len(dense[0])
    columns: list[list[list[Any]]] = [[[] for _ in range(size)] for _ in range(count)]
    for column, places, words in zip(columns, inputs[:count], inputs[count : 2 * count], strict=True):
        for row, word in zip(places[:, 0].tolist(), words.tolist(), strict=True):
            column[row].append(word)
    columns += [one.tolist() for one in dense]
    return [each for row in zip(*columns, strict=True) for each in itertools.product(*row)]
