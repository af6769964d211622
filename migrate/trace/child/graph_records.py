"""Makes the record of graphs: their variables, and the uses of each, as JSON would have them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from .graph_files import write_graph
from .stacks import Stacks
from .state import EagerVariable, End, GraphNotes, Notes, Touch
from .uses import Found, Uses

#: Names that are kept of what sessions are asked for and given, of each graph.
MOST_NAMES = 500
_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")


class GraphRecords:
    """Reads graphs, to which nothing is added, and writes them to a folder."""

    def __init__(self, notes: Notes, stacks: Stacks, folder: str) -> None:
        self._notes, self._stacks, self._folder = notes, stacks, folder
        self._uses = Uses(notes)

    def all(self) -> list[dict[str, Any]]:
        """Return the records of all graphs that have variables, and one of what was made eagerly."""
        groups: dict[int, list[GraphNotes]] = {}
        for one in list(self._notes.graphs.values()):
            groups.setdefault(id(self._outermost(one)), []).append(one)
        eager, found = [], []
        for group in groups.values():
            outermost = self._outermost(group[0])
            variables = [variable for one in group for variable in self._variables(one)]
            if hasattr(outermost, "captures"):  # functions that were made eagerly
                eager += variables
            elif variables:
                notes = self._notes.of(outermost)
                names = {"fetches": _first(notes.fetches), "feeds": _first(notes.feeds)}
                found.append({"kind": "graph", "variables": variables, "graph": outermost, **names})
        eager = [*map(self._eager, self._notes.eager), *eager]
        if eager:
            found.append({"kind": "eager", "variables": eager, "graph": None, "fetches": [], "feeds": []})
        joined = _joined(found)
        for number, record in enumerate(joined):
            graph = record["graph"]
            record["graph"] = "" if graph is None else write_graph(graph, self._folder, f"{os.getpid()}-{number}")
        return joined

    def _outermost(self, notes: GraphNotes) -> Any:
        """Return the graph that a function was made in, or the outermost function of those made eagerly."""
        graph = notes.graph
        while not self._notes.of(graph).eager and getattr(graph, "outer_graph", None) is not None:
            graph = graph.outer_graph
        return graph

    def _variables(self, notes: GraphNotes) -> Iterator[dict[str, Any]]:
        collections = _collections(notes.graph)
        for op in notes.graph.get_operations():
            if op.type in _VARIABLES:
                held = collections.get(op.name, [])
                yield {
                    "name": op.name,
                    "shape": _shape(op.get_attr("shape")),
                    "dtype": op.get_attr("dtype").name,
                    "trainable": "trainable_variables" in held,
                    "made": self._stacks.of(op).at,
                    "collections": held,
                    "uses": self._plain_uses(op.outputs[0], self._notes.touches.get((id(notes.graph), op.name), ())),
                }

    def _eager(self, variable: EagerVariable) -> dict[str, Any]:
        found = [_use(kind, op, "", at, optimizer) for kind, op, at, optimizer in list(variable.uses)]
        handle = next((handle for handle, one in self._notes.handles.items() if one is variable), 0)
        for inside in self._uses.captured(handle):
            found += self._plain_uses(inside)
        return {
            "name": variable.name,
            "shape": list(variable.shape),
            "dtype": variable.dtype,
            "trainable": variable.trainable,
            "made": variable.made,
            "collections": [],
            "uses": _sorted(found),
        }

    def _end(self, found: Found) -> End:
        known = found.kind == "lookup"
        return self._notes.ends.get((id(found.op.graph), found.op.name), ()) if known else ()

    def _plain_uses(self, tensor: Any, touches: Iterable[Touch] = ()) -> list[dict[str, Any]]:
        found = [self._use_of(one) for one in self._uses.of(tensor)]
        return _sorted([*found, *(_use("touch", one.name, "", one.at, "", one.through) for one in touches)])

    def _use_of(self, found: Found) -> dict[str, Any]:
        kind, op, name = found.described
        made = self._stacks.of(found.op)
        if kind == "assign" and not found.fed and made.by_saver:
            kind = "save"
        return _use(kind, op, name, made.at, found.optimizer, made.through, self._end(found))


def _use(kind: str, op: str, name: str, at: Any, optimizer: str, through: str = "", end: End = ()) -> dict[str, Any]:
    return {"kind": kind, "op": op, "name": name, "at": at, "optimizer": optimizer, "through": through, "end": end}


def _first(names: Iterable[str]) -> list[str]:
    return sorted(list(names)[:MOST_NAMES])


def _sorted(uses: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return uses in order, each once: a function that was traced twice has two equal ones."""
    rows = {tuple(one.values()): one for one in uses}
    return [rows[key] for key in sorted(rows)]


def _shape(shape: Any) -> list[int | None]:
    return [] if shape.unknown_rank else [None if one.size < 0 else int(one.size) for one in shape.dim]


def _collections(graph: Any) -> dict[str, list[str]]:
    """Return name of variable -> the collections that hold it."""
    found: dict[str, set[str]] = {}
    for key in graph.collections:
        if not isinstance(key, str):
            continue
        for item in graph.get_collection_ref(key):
            for part in _parts(item):
                found.setdefault(part, set()).add(key)
    return {name: sorted(keys) for name, keys in found.items()}


def _parts(item: Any) -> Iterator[str]:
    """Yield the names of the variables that an item of a collection is: itself, or the parts of a partitioned one."""
    for one in getattr(item, "_variable_list", None) or getattr(item, "_values", None) or [item]:
        if hasattr(one, "initializer") and hasattr(one, "op"):
            yield one.op.name if getattr(one, "op", None) is not None else one.name.split(":")[0]


def _joined(graphs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join graphs with the same variables, as an Estimator makes one for each evaluation."""
    found: dict[str, dict[str, Any]] = {}
    for one in graphs:
        key = repr((one["kind"], one["variables"]))
        known = found.setdefault(key, one)
        for names in ("fetches", "feeds"):
            known[names] = sorted({*known[names], *one[names]})
    return list(found.values())
