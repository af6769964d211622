"""Properties of a class that its bases may contribute, computed once per class rather than once per instance."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from migrate.source.flow.graph import Variable
from migrate.source.flow.program import Program
from migrate.source.flow.values import Class

#: A predicate over class definitions.
Kind = Callable[[cst.ClassDef], bool]


class Heritage:
    """Runs actions only for classes with a property: few have it, while each class may have thousands of instances."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._graph = program.graph
        self._signs: dict[tuple[Class, Kind], Variable] = {}

    def once(self, cls: Class, kind: Kind, act: Callable[[], None]) -> None:
        """Call `act` once if the predicate holds for the class or any of its base classes."""
        self._graph.watch(self._sign(cls, kind), lambda _: act())

    def bases(self, cls: Class) -> list[Variable]:
        """Return the variables of the base class expressions."""
        assert isinstance(cls.node, cst.ClassDef)
        return [self._program.moved(base.value) for base in cls.node.bases]

    def each_base(self, cls: Class, act: Callable[[Class], None]) -> None:
        """Call `act` with each base class that the program defines."""
        for variable in self.bases(cls):
            self._graph.watch_kind(variable, Class, act)

    def _sign(self, cls: Class, kind: Kind) -> Variable:
        """Return a variable that is non-empty if the predicate holds for the class or a base of it."""
        found = self._signs.get((cls, kind))
        if found is not None:
            return found
        sign = self._signs[cls, kind] = Variable()
        assert isinstance(cls.node, cst.ClassDef)
        if kind(cls.node):
            self._graph.put(sign, self._program.none)
        self.each_base(cls, lambda base: self._graph.edge(self._sign(base, kind), sign))
        return sign
