"""What a program feeds in the place of a variable that became a table: what reads the table now is given it, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rewriter import _tf_private
from rewriter.facts import Lookup, Table
from rewriter.installation.fed_ahead import computed_of
from rewriter.installation.restores import run_by
from rewriter.patterns.branches import READS
from rewriter.plan.plan import Plan

__all__ = ["FedVariables", "behind", "refusal"]

#: Stateful ops that give the same when a run computes them again.
_REPEATED = re.compile("^Var|^ReadVar|Table|^Placeholder|^Assert")


class FedVariables:
    """What read the variables of one graph before its rewrite, and what they are given when the values are fed."""

    def __init__(self, graph: tf.Graph, plan: Plan) -> None:
        """Take the graph, which was rewritten by the plan."""
        self._graph, self._plan = graph, plan
        self._later: list[tuple[tf.Tensor, tf.Tensor]] = []
        terms = (graph.get_operation_by_name(term.op) for table in plan.tables for term in table.terms)
        read = [
            *(graph.get_tensor_by_name(edit.old) for edit in plan.inputs),
            *(old for op in terms for old in op.inputs),
        ]
        self._names = {name for old in read for name in behind(old)}

    def reads_later(self, old: tf.Tensor, read: tf.Tensor) -> None:
        """Note what a later op reads in the place of a variable or of a read of it."""
        self._later.append((old, read))
        self._names.update(behind(old))

    def names(self, feeds: Iterable[Any]) -> set[str]:
        """Return the names of fed tensors."""
        return {self._name(fed) for fed in feeds}

    def among(self, feeds: Iterable[Any]) -> dict[str, Any]:
        """Return by name those of the fed tensors of which something reads a table in their place."""
        return {name: fed for fed in feeds if (name := self._name(fed)) in self._names}

    def given(self, fetches: Any, feeds: Mapping[Any, Any], run: Callable[[Any, Any], Any]) -> dict[tf.Tensor, Any]:
        """Return what to feed besides in a run of `fetches`; `run(tensors, feeds)` computes the ids of lookups.

        Raises:
            ValueError: what reads the variable cannot be given it.
        """
        values = {name: np.asarray(feeds[fed]) for name, fed in self.among(feeds).items()}
        rows: dict[tf.Tensor, tuple[NDArray[Any], Lookup]] = {}
        found: dict[tf.Tensor, Any] = {}
        ops = run_by(self._graph, fetches) if values else set()
        for old, read, table, lookup in self._readers() if values else ():
            value = next((values[name] for name in behind(old) if name in values), None)
            if value is None or read.op not in ops:
                continue
            if table is not None and not self._simple(table, lookup, self.names(feeds)):
                raise refusal(table.name)
            if lookup is None:
                found[read] = value
            else:
                rows[read] = value, lookup
        ids = run([str(lookup.ids) for _, lookup in rows.values()], feeds) if rows else []
        for (read, (value, _)), keys in zip(rows.items(), ids, strict=True):
            found[read] = _rows(value, np.asarray(keys), read)
        return found

    def _readers(self) -> Iterator[tuple[tf.Tensor, tf.Tensor, Table | None, Lookup | None]]:
        """Yield what was read, what is read instead, and of which lookup its rows are."""
        new = {
            edit.by: self._graph.get_operation_by_name(edit.use.op).inputs[edit.use.input] for edit in self._plan.inputs
        }
        for table in self._plan.tables:
            looked_up = {f"{table.name}/lookup/{number}/rows": one for number, one in enumerate(table.lookups)}
            for edit in self._plan.inputs:
                lookup = looked_up.get(edit.by)
                if lookup is not None or edit.by.startswith(f"{table.name}/rows/"):
                    old, by = self._graph.get_tensor_by_name(edit.old), (edit.by, edit.by.removesuffix("/rows"))
                    yield from ((old, new[part], table, lookup) for part in by if part in new)
            for op in (self._graph.get_operation_by_name(term.op) for term in table.terms):
                part = f"{table.name}/term/{op.name}"
                yield from ((old, new[part], table, None) for old in op.inputs if part in new)
        yield from ((old, read, None, None) for old, read in self._later)

    def _simple(self, table: Table, lookup: Lookup | None, fed: set[str]) -> bool:
        """Whether all that a table gives follows from its rows, and the ids of a lookup are the same once more."""
        if table.parts or table.terms or any(edit.table == table.name for edit in self._plan.rows):
            return False
        if lookup is None:
            return True
        ids = self._graph.get_tensor_by_name(str(lookup.ids))
        before = {self._graph.get_tensor_by_name(name).op for name in computed_of(ids, fed)}
        repeated = all(_REPEATED.search(op.type) or not op.op_def.is_stateful for op in before)
        return repeated and not (lookup.nested or lookup.product or _tf_private.in_control_flow(ids.op))

    def _name(self, fed: Any) -> str:
        try:
            return str(self._graph.as_graph_element(fed, allow_operation=False).name)
        except (TypeError, ValueError, KeyError):
            return ""  # a structure of tensors, or what the session refuses


def refusal(fed: str) -> ValueError:
    """Say that a variable, or this read of it, cannot be fed."""
    return ValueError(
        f"the value of `{fed}` is fed, which has become a table: assign it, or leave the variable out by tables=[...]"
    )


def behind(tensor: tf.Tensor) -> Iterator[str]:
    """Yield the names of a tensor and of those that it is a mere read of, back to the variable."""
    yield tensor.name
    while tensor.op.type in READS:
        tensor = tensor.op.inputs[0]
        yield tensor.name


def _rows(value: NDArray[Any], ids: NDArray[Any], read: tf.Tensor) -> NDArray[Any]:
    """Return the rows of ids, one after the other where the reader takes them so."""
    wrong = np.argwhere((ids < 0) | (ids >= len(value)))
    if len(wrong):
        place = ",".join(map(str, wrong[0]))
        error = f"indices[{place}] = {ids[tuple(wrong[0])]} is not in [0, {len(value)})"
        raise tf.errors.InvalidArgumentError(None, None, error)
    return np.take(value, ids.reshape(-1) if read.op.type == "PlaceholderWithDefault" else ids, 0)
