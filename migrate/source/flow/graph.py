"""The constraint graph: variables that hold sets of values, edges along which values flow, and the work that is left.

Inclusion-based (Andersen): an edge from `a` to `b` says that all that `a` may hold, `b` may hold as well.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from migrate.source.flow.values import Value


class Variable:
    """Holds what an expression, a name or an attribute may be; `values` keeps where each value came from first."""

    __slots__ = ("fresh", "node", "receivers", "values", "watchers")

    def __init__(self, node: cst.CSTNode | None = None) -> None:
        """Make an empty one; `node` is the place in the source that it stands for, if there is one."""
        self.node = node
        self.values: dict[Value, Variable | None] = {}
        self.receivers: dict[Variable, None] = {}
        self.watchers: list[Callable[[Value], None]] = []
        self.fresh: list[Value] = []  #: those of the values that `solve` has not carried on yet


#: So many values a variable has at most; of more, it is enough to know that it may be anything.
MOST = 64


class Graph:
    """Variables and edges; `solve` carries values until nothing changes. The order of calls does not matter.

    A variable with `MOST` values gets `anything` instead of more; `drop` is called once with each that is left out.
    """

    def __init__(self, anything: Value, drop: Callable[[Value], None]) -> None:
        self._anything = anything
        self._drop = drop
        self._dropped: set[Value] = set()
        self._pending: list[Variable] = []  #: those with fresh values
        self._late: list[tuple[Callable[[Value], None], Value]] = []

    def put(self, variable: Variable, value: Value, source: Variable | None = None) -> None:
        """Add a value."""
        values = variable.values
        if value not in values:
            if len(values) >= MOST and value is not self._anything:
                self._leave_out(variable, value)
                return
            values[value] = source
            fresh = variable.fresh
            if not fresh:
                self._pending.append(variable)
            fresh.append(value)

    def _leave_out(self, variable: Variable, value: Value) -> None:
        self.put(variable, self._anything)
        if value not in self._dropped:
            self._dropped.add(value)
            self._late.append((self._drop, value))

    def is_full(self, variable: Variable) -> bool:
        """True for a variable that has as many values as are told apart, and may be anything."""
        return len(variable.values) > MOST

    def edge(self, source: Variable, target: Variable) -> None:
        """Let all that `source` may be be in `target` as well."""
        if source is not target and target not in source.receivers:
            source.receivers[target] = None
            for value in list(source.values):
                if value not in target.values:
                    self.put(target, value, source)

    def pass_on(self, source: Variable, target: Variable, accepts: Callable[[Value], bool]) -> None:
        """Let those values of `source` be in `target` that are accepted."""
        self.watch(source, lambda value: self.put(target, value, source) if accepts(value) else None)

    def watch(self, variable: Variable, act: Callable[[Value], None]) -> None:
        """Let `solve` call `act` with each value that the variable has or gets, once."""
        variable.watchers.append(act)
        if variable.values:
            fresh = set(variable.fresh)
            self._late += [(act, value) for value in variable.values if value not in fresh]

    def solve(self) -> None:
        """Carry values along edges until all are where they belong, those of one variable at once."""
        dropped = self._dropped
        while self._pending or self._late:
            if self._late:
                act, value = self._late.pop()
                act(value)
                continue
            variable = self._pending.pop()
            carried, variable.fresh = variable.fresh[::-1], []
            for target in list(variable.receivers):
                arrived = target.values
                full = len(arrived) > MOST
                for value in carried:
                    if value in arrived or (full and value in dropped):
                        continue
                    if len(arrived) >= MOST:
                        self.put(target, value, variable)
                        continue
                    arrived[value] = variable  # what `put` does, without a call: most of the time goes here
                    if not target.fresh:
                        self._pending.append(target)
                    target.fresh.append(value)
            for act in list(variable.watchers):
                for value in carried:
                    act(value)
