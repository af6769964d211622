"""What is put under the keys of each holder, and what may be found there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from migrate.source.flow.graph import Graph, Variable
from migrate.source.flow.values import ANY, From, Pattern, Value, compatible


class _Keys:
    """The keys of one holder."""

    __slots__ = ("places", "watchers", "wide")

    def __init__(self) -> None:
        self.places: dict[object, tuple[Variable, Variable]] = {}  #: what is put there, and what is found
        self.wide: list[object] = []  #: those keys that may be several
        self.watchers: list[Callable[[object], None]] = []


class Fields:
    """Two variables for each key of a holder: all that is put there, and that with what is put under one like it."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._of: dict[Value, _Keys] = {}
        self._all: list[tuple[Value, object, Variable]] = []

    def written(self, holder: Value, key: object) -> Variable:
        """Return the variable of what is put under a key."""
        return self._place(holder, key)[0]

    def read(self, holder: Value, key: object) -> Variable:
        """Return the variable of what may be found under a key: all that is put under it, or under one like it."""
        return self._place(holder, key)[1]

    def on_keys(self, holder: Value, act: Callable[[object], None]) -> None:
        """Call `act` with each key of a holder, once, also with those that come later."""
        keys = self._keys(holder)
        keys.watchers.append(act)
        for key in list(keys.places):
            act(key)

    def all(self) -> Iterator[tuple[Value, object, Variable]]:
        """Yield all holders, each with a key and the variable of what is put there."""
        yield from self._all

    def _keys(self, holder: Value) -> _Keys:
        found = self._of.get(holder)
        if found is None:
            found = self._of[holder] = _Keys()
        return found

    def _place(self, holder: Value, key: object) -> tuple[Variable, Variable]:
        keys = self._keys(holder)
        found = keys.places.get(key)
        if found is None:
            found = self._add(holder, keys, key)
        return found

    def _add(self, holder: Value, keys: _Keys, key: object) -> tuple[Variable, Variable]:
        """Make the place of a key, which what is put under keys like it reaches, and the other way round."""
        found = keys.places[key] = (Variable(), Variable())
        self._all.append((holder, key, found[0]))
        self._graph.edge(*found)
        plain = not isinstance(key, Pattern | From) and key is not ANY
        for other in keys.wide if plain else list(keys.places):
            if other is not key and compatible(key, other):
                written, read = keys.places[other]
                self._graph.edge(found[0], read)
                self._graph.edge(written, found[1])
        if not plain:
            keys.wide.append(key)
        for act in list(keys.watchers):
            act(key)
        return found
