"""Follows a variable through its graph and the functions it is handed to, to the ops that use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .op_kinds import GATHERS, MERGES, PASSES, assigns, functions_of, gathers_rows, kind_of
from .state import Notes

_LOOPS = ("While", "StatelessWhile")


class Found(NamedTuple):
    """An op that uses a variable; `kind` is one of the record's."""

    kind: str
    op: Any
    optimizer: str
    fed: bool = False  #: no op: a session was given a value in place of the op's

    @property
    def described(self) -> tuple[str, str, str]:
        """Kind, type of the op and name of the op, as in a record."""
        return self.kind, "feed" if self.fed else self.op.type, self.op.name


class Uses:
    """Knows what functions capture."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._captured: dict[int, list[Any]] = {}
        for one in list(notes.graphs.values()):
            for outside, inside in _captures(one.graph):
                self._captured.setdefault(id(outside), []).append(inside)
        self._fetched: dict[int, set[str]] = {}

    def of(self, start: Any) -> list[Found]:
        """Return the uses of a variable, given its handle, its reference or the tensor that functions capture."""
        found: dict[tuple[str, int, bool], Found] = {}
        pending, known = [start], {id(start)}
        while pending:
            tensor = pending.pop()
            for one in self._next(tensor):
                if not isinstance(one, Found):
                    if id(one) not in known:
                        known.add(id(one))
                        pending.append(one)
                else:
                    found.setdefault((one.kind, id(one.op), one.fed), one)
        return list(found.values())

    def captured(self, handle: int) -> list[Any]:
        """Return the tensors by which functions capture a tensor with this id."""
        return self._captured.get(handle, [])

    def _next(self, tensor: Any) -> Iterator[Any]:
        """Yield the tensors that hand a tensor on, and the uses of it."""
        yield from self._captured.get(id(tensor), ())
        if not hasattr(tensor, "graph"):  # an eager one
            return
        seen = set()
        for op in tensor.consumers():
            if id(op) not in seen:
                seen.add(id(op))
                for place, given in enumerate(op.inputs):
                    if given is tensor:
                        yield from self._use(op, place)
        # The value of a read, or of a reference, leaves the graph: by a fetch, or as the result of a function.
        if tensor.dtype.name != "resource" and self._leaves(tensor):
            yield self._found("whole", tensor.op)
        if tensor.name in self._notes.of(tensor.graph).feeds:
            yield Found("assign", tensor.op, "", fed=True)

    def _use(self, op: Any, place: int) -> Iterator[Any]:
        kind = op.type
        if kind in PASSES and place == 0:
            yield from op.outputs
        elif kind in MERGES:
            yield op.outputs[0]
        elif kind == "IdentityN":
            yield op.outputs[place]
        else:
            called = self._called(op, place) if kind_of(kind, place) == "whole" else None
            if called is None:
                yield self._found(self._kind(op, place), op)
            else:
                yield from called

    def _kind(self, op: Any, place: int) -> str:
        from tensorflow.python.framework import tensor_util

        kind = kind_of(op.type, place)
        if kind == "lookup" and op.type in GATHERS and not gathers_rows(op, tensor_util.constant_value):
            return "whole"
        return kind

    def _found(self, kind: str, op: Any) -> Found:
        optimizer = self._notes.of(op.graph).optimizer_of(op)
        if optimizer and kind in ("whole", "assign", "lookup") and not self.sets_at_first(op):
            kind = "update"
        return Found(kind, op, optimizer if kind == "update" else "")

    def sets_at_first(self, op: Any) -> bool:
        """Whether an op gives a variable its initial value: the first that assigns to it."""
        return assigns(op.type) and first_assignment(op.inputs[0]) is op

    def _called(self, op: Any, place: int) -> list[Any] | None:
        """Return the tensors that hand it on in the functions that an op calls; None if it calls none that is known."""
        names = [op.type, *functions_of(op)]
        graphs = [self._notes.functions[name] for name in names if name in self._notes.functions]
        if not graphs:
            return None
        further = [op.outputs[place]] if op.type in _LOOPS else []
        for graph in graphs:
            inside = place - len(op.inputs) + len(graph.inputs)
            further += [graph.inputs[inside]] if 0 <= inside < len(graph.inputs) else []
        return further

    def _leaves(self, tensor: Any) -> bool:
        graph = tensor.graph
        if id(graph) not in self._fetched:
            self._fetched[id(graph)] = set(self._notes.of(graph).fetches)
        if tensor.name in self._fetched[id(graph)]:
            return True
        if _is_loop(graph):
            return False  # the value goes round; what is done with it in the loop, and behind it, is followed
        return any(one is tensor for one in getattr(graph, "outputs", ()))


def first_assignment(variable: Any) -> Any:
    """Return the op that was first made to set a variable, which is its initializer; None if there is none."""
    found = [op for op in variable.consumers() if assigns(op.type) and op.inputs[0] is variable]
    return min(found, key=lambda op: op._id, default=None)


def _captures(graph: Any) -> list[tuple[Any, Any]]:
    """Return (tensor outside, tensor inside) of all that a function captures; none of a graph."""
    if hasattr(graph, "captures"):
        return list(graph.captures)
    if hasattr(graph, "extra_args"):  # Defun
        return list(zip(graph.extra_inputs, graph.extra_args, strict=False))
    return []


def _is_loop(graph: Any) -> bool:
    return "While" in type(graph).__name__
