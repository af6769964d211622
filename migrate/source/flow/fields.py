"""Field-sensitive contents of holders: what is stored under each key, and what a read of a key may find."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from migrate.source.flow.graph import Graph, Variable
from migrate.source.flow.values import ANY, From, Pattern, Value, compatible


class _Keys:
    """The keys of one holder."""

    __slots__ = ("places", "watchers", "wide")

    def __init__(self) -> None:
        #: per key: the variable of what is stored, and that of what is read
        self.places: dict[object, tuple[Variable, Variable]] = {}
        self.wide: list[object] = []  #: keys that may equal several others
        self.watchers: list[Callable[[object], None]] = []


class Fields:
    """Two variables per key of a holder: the values stored under it, and those that a read of it may find."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._of: dict[Value, _Keys] = {}
        self._all: list[tuple[Value, object, Variable]] = []

    def written(self, holder: Value, key: object) -> Variable:
        """Return the variable of the values that are stored under a key."""
        return self._place(holder, key)[0]

    def read(self, holder: Value, key: object) -> Variable:
        """Return the variable of the values that a read may find: stored under this key or any compatible one."""
        return self._place(holder, key)[1]

    def on_keys(self, holder: Value, act: Callable[[object], None]) -> None:
        """Call `act` once with each key of a holder, including keys that are added later."""
        keys = self._keys(holder)
        keys.watchers.append(act)
        for key in list(keys.places):
            act(key)

    def all(self) -> Iterator[tuple[Value, object, Variable]]:
        """Yield each holder with a key and the variable of the values stored there."""
        yield from self._all

    def variables(self) -> Iterator[Variable]:
        """Yield all variables of entries."""
        return (variable for keys in self._of.values() for place in keys.places.values() for variable in place)

    def _keys(self, holder: Value) -> _Keys:
        keys = self._of.get(holder)
        if keys is None:
            keys = self._of[holder] = _Keys()
        return keys

    def _place(self, holder: Value, key: object) -> tuple[Variable, Variable]:
        keys = self._keys(holder)
        place = keys.places.get(key)
        if place is None:
            place = self._add(holder, keys, key)
        return place

    def _add(self, holder: Value, keys: _Keys, key: object) -> tuple[Variable, Variable]:
        """Create the variables of a new key and connect them with those of all compatible keys."""
        variables = keys.places[key] = (Variable(), Variable())
        self._all.append((holder, key, variables[0]))
        self._graph.edge(*variables)
        plain = not isinstance(key, (Pattern, From)) and key is not ANY
        for other in keys.wide if plain else list(keys.places):
            if other is not key and compatible(key, other):
                written, read = keys.places[other]
                self._graph.edge(variables[0], read)
                self._graph.edge(written, variables[1])
        if not plain:
            keys.wide.append(key)
        for act in list(keys.watchers):
            act(key)
        return variables
