"""What is noted while the program runs; `graph_records.py` makes the record of it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Line = tuple[str, int]
Stack = tuple[Line, ...]
#: Line, from 1, and column, from 0 and in bytes, behind an expression; empty if it is not known.
End = tuple[int, int] | tuple[()]


class Touch(NamedTuple):
    """Python code that is no framework's uses the object of a variable, which makes no op."""

    name: str  #: the attribute that it reads, or the function that it calls
    at: Stack
    through: str  #: as in a record's use


class Applied(NamedTuple):
    """The ops of a graph from number `first` up to `end` were made by an optimizer's `apply_gradients`."""

    first: int
    end: int
    optimizer: str


@dataclass
class GraphNotes:
    """A graph, or the body of a function."""

    graph: Any
    eager: bool = False  #: a function that was made while TensorFlow executed eagerly: nothing is outside of it
    optimizer: str = ""  #: the optimizer whose `apply_gradients` ran when the graph was made
    applied: list[Applied] = field(default_factory=list)
    fetches: dict[str, None] = field(default_factory=dict)
    feeds: dict[str, None] = field(default_factory=dict)

    def optimizer_of(self, op: Any) -> str:
        """Return the class of the optimizer that made an op; empty if none did."""
        number = op._id
        inner = [one for one in self.applied if one.first <= number < one.end]
        # Of optimizers that call each other, the innermost updates: its range is the smallest.
        return min(inner, key=lambda one: one.end - one.first).optimizer if inner else self.optimizer


@dataclass
class EagerVariable:
    """A variable that was made eagerly."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    trainable: bool
    made: Stack
    uses: dict[tuple[str, str, Stack, str], None] = field(default_factory=dict)  #: kind, op, stack, optimizer


@dataclass
class Notes:
    """All that is noted of one process."""

    graphs: dict[int, GraphNotes] = field(default_factory=dict)  #: by id; the notes keep the graph alive
    functions: dict[str, Any] = field(default_factory=dict)  #: name in a library -> the FuncGraph
    handles: dict[int, EagerVariable] = field(default_factory=dict)  #: id of a handle -> the newest that has it
    eager: list[EagerVariable] = field(default_factory=list)
    #: (id of graph, name of variable) -> touches
    touches: dict[tuple[int, str], dict[Touch, None]] = field(default_factory=dict)
    ends: dict[tuple[int, str], End] = field(default_factory=dict)  #: (id of graph, name of lookup) -> end of its call
    maps: dict[tuple[str, int], Line] = field(default_factory=dict)  #: line of AutoGraph's code -> (file, line)
    faults: dict[str, None] = field(default_factory=dict)  #: what went wrong in the tracer, each once
    local: threading.local = field(default_factory=threading.local)

    def of(self, graph: Any, eager: bool = False) -> GraphNotes:
        """Return the notes of a graph, which is noted if it was not."""
        found = self.graphs.get(id(graph))
        if found is None:
            found = self.graphs[id(graph)] = GraphNotes(graph, eager, self.optimizer())
        return found

    def optimizer(self) -> str:
        """Return the class of the optimizer whose `apply_gradients` runs in this thread."""
        stack: list[str] = self.applying()
        return stack[-1] if stack else ""

    def applying(self) -> list[str]:
        """Return the optimizers whose `apply_gradients` run in this thread, the innermost last."""
        found: list[str] | None = getattr(self.local, "applying", None)
        if found is None:
            found = self.local.applying = []
        return found


@contextlib.contextmanager
def unharmed(notes: Notes) -> Iterator[None]:
    """Keep a fault of the tracer from the program; it is told when the run has ended."""
    try:
        yield
    except Exception as error:
        notes.faults.setdefault(f"{type(error).__name__}: {error}")
