"""The constraint graph: variables that hold sets of values, edges along which values flow, and the work that is left.

Inclusion-based (Andersen): an edge from `a` to `b` says that all that `a` may hold, `b` may hold as well.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from migrate.source.flow.values import Value


class Variable:
    """Holds what an expression, a name or an attribute may be; `values` keeps where each value came from first."""

    __slots__ = ("node", "receivers", "values", "watchers")

    def __init__(self, node: cst.CSTNode | None = None) -> None:
        """Make an empty one; `node` is the place in the source that it stands for, if there is one."""
        self.node = node
        self.values: dict[Value, Variable | None] = {}
        self.receivers: dict[Variable, None] = {}
        self.watchers: list[Callable[[Value], None]] = []


class Graph:
    """Variables and edges; `solve` carries values until nothing changes. The order of calls does not matter."""

    def __init__(self) -> None:
        self._pending: list[tuple[Variable, Value]] = []
        self._waiting: set[tuple[Variable, Value]] = set()  #: the same, to ask
        self._late: list[tuple[Callable[[Value], None], Value]] = []

    def put(self, variable: Variable, value: Value, source: Variable | None = None) -> None:
        """Add a value."""
        if value not in variable.values:
            variable.values[value] = source
            self._pending.append((variable, value))
            self._waiting.add((variable, value))

    def edge(self, source: Variable, target: Variable) -> None:
        """Let all that `source` may be be in `target` as well."""
        if source is not target and target not in source.receivers:
            source.receivers[target] = None
            for value in list(source.values):
                self.put(target, value, source)

    def pass_on(self, source: Variable, target: Variable, accepts: Callable[[Value], bool]) -> None:
        """Let those values of `source` be in `target` that are accepted."""
        self.watch(source, lambda value: self.put(target, value, source) if accepts(value) else None)

    def watch(self, variable: Variable, act: Callable[[Value], None]) -> None:
        """Let `solve` call `act` with each value that the variable has or gets, once."""
        variable.watchers.append(act)
        arrived = [value for value in variable.values if (variable, value) not in self._waiting]
        self._late += [(act, value) for value in arrived]

    def solve(self) -> None:
        """Carry values along edges until all are where they belong."""
        while self._pending or self._late:
            if self._late:
                act, value = self._late.pop()
                act(value)
                continue
            variable, value = self._pending.pop()
            self._waiting.discard((variable, value))
            for target in list(variable.receivers):
                self.put(target, value, variable)
            for act in list(variable.watchers):
                act(value)
