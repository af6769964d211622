"""Whether a class, or one above it, is of some kind: found out once a class, and asked for each of its objects."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from migrate.source.flow.graph import Variable
from migrate.source.flow.program import Program
from migrate.source.flow.values import Class, Value

#: True for the definition of a class of that kind.
Kind = Callable[[cst.ClassDef], bool]


class Heritage:
    """Few classes are of such a kind, and each may have thousands of objects: only those are looked at more closely."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._graph = program.graph
        self._signs: dict[tuple[Class, Kind], Variable] = {}

    def once(self, cls: Class, kind: Kind, act: Callable[[], None]) -> None:
        """Call `act`, once, if the class or one above it is of that kind."""
        self._graph.watch(self._sign(cls, kind), lambda _: act())

    def bases(self, cls: Class) -> list[Variable]:
        """Return the variables of the bases of a class."""
        assert isinstance(cls.node, cst.ClassDef)
        return [self._program.moved(base.value) for base in cls.node.bases]

    def _sign(self, cls: Class, kind: Kind) -> Variable:
        """Return a variable that has a value when there is such a class."""
        found = self._signs.get((cls, kind))
        if found is not None:
            return found
        sign = self._signs[cls, kind] = Variable()
        assert isinstance(cls.node, cst.ClassDef)
        if kind(cls.node):
            self._graph.put(sign, self._program.none)

        def above(base: Value) -> None:
            if isinstance(base, Class):
                self._graph.edge(self._sign(base, kind), sign)

        for variable in self.bases(cls):
            self._graph.watch(variable, above)
        return sign
