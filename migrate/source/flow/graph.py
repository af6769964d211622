"""The constraint graph: variables with points-to sets, subset edges between them, and the solver's work list.

Inclusion-based (Andersen): an edge from `a` to `b` states that the points-to set of `b` contains that of `a`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import libcst as cst

from migrate.source.flow.values import Value

Kind = TypeVar("Kind", bound=Value)


class Variable:
    """The points-to set of an expression, a name or an attribute.

    `values` maps each value to the variable that it came from first; `receivers` are the targets of its edges.
    """

    __slots__ = ("fresh", "node", "receivers", "values", "watchers")

    def __init__(self, node: cst.CSTNode | None = None) -> None:
        """Create an empty set; `node` is the place in the source that the variable stands for, if any."""
        self.node = node
        self.values: dict[Value, Variable | None] = {}
        self.receivers: dict[Variable, None] = {}
        self.watchers: list[Callable[[Value], None]] = []
        self.fresh: list[Value] = []  #: values that `solve` has not propagated yet


#: The largest points-to set. With more values, a variable is widened to "anything".
MOST = 64


class Graph:
    """Variables and edges; `solve` propagates values up to the fixed point. The result does not depend on call order.

    A variable with `MOST` values gets `anything` instead of more; `drop` is called once with each value that is left
    out.
    """

    def __init__(self, anything: Value, drop: Callable[[Value], None]) -> None:
        self._anything = anything
        self._drop = drop
        self.dropped: set[Value] = set()  #: values that a full variable left out
        self._watched: list[Variable] = []
        self._pending: list[Variable] = []  #: the work list: variables with fresh values
        self._late: list[tuple[Callable[[Value], None], Value]] = []

    def put(self, variable: Variable, value: Value, source: Variable | None = None) -> None:
        """Add a value to a points-to set; `source` is the variable that it came from."""
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
        """Widen a full variable to "anything", and report the value to `drop` once."""
        self.put(variable, self._anything)
        if value not in self.dropped:
            self.dropped.add(value)
            self._late.append((self._drop, value))

    def is_full(self, variable: Variable) -> bool:
        """True for a variable that was widened to "anything"."""
        return len(variable.values) > MOST

    def edge(self, source: Variable, target: Variable) -> None:
        """Add the constraint that `target` contains `source`."""
        if source is target or target in source.receivers:
            return
        source.receivers[target] = None
        for value in list(source.values):
            if value not in target.values:
                self.put(target, value, source)

    def pass_on(self, source: Variable, target: Variable, accepts: Callable[[Value], bool]) -> None:
        """Propagate those values of `source` to `target` for which `accepts` is true."""
        self.watch(source, lambda value: self.put(target, value, source) if accepts(value) else None)

    def watch(self, variable: Variable, act: Callable[[Value], None]) -> None:
        """Let `solve` call `act` once with each value that the variable has now or gets later."""
        if not variable.watchers:
            self._watched.append(variable)
        variable.watchers.append(act)
        if variable.values:
            fresh = set(variable.fresh)
            self._late += [(act, value) for value in variable.values if value not in fresh]

    def watch_kind(self, variable: Variable, kind: type[Kind], act: Callable[[Kind], None]) -> None:
        """Let `solve` call `act` as `watch` does, with values of one kind alone."""
        self.watch(variable, lambda value: act(value) if isinstance(value, kind) else None)

    def solve(self) -> None:
        """Propagate values along edges up to the fixed point, in batches of one variable each."""
        dropped = self.dropped
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

    def close(self) -> None:
        """Forget who waits for values, which takes a third of the memory, once no more of them come."""
        for variable in self._watched:
            variable.watchers.clear()
        self._watched = []
