"""Notes what sessions are asked for, and which of their runs are training steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .lines import Lines
from .op_kinds import adds, functions_of, takes_steps
from .patching import wrap
from .state import Notes, unharmed
from .steps import Steps

#: Attributes by which sparse, ragged and indexed tensors have their tensors.
_COMPONENTS = ("indices", "values", "dense_shape", "row_splits")


class Sessions:
    """What is fetched of a graph is looked at once for each combination of fetches."""

    def __init__(self, notes: Notes, steps: Steps, lines: Lines) -> None:
        self._notes, self._steps, self._lines = notes, steps, lines
        #: (id of graph, keys of fetches) -> (whether they train, the fetches, which are kept alive)
        self._known: dict[tuple[int | str | bytes, ...], tuple[bool, list[Any]]] = {}
        self._fed: dict[tuple[int, int | str | bytes], Any] = {}

    def install(self) -> None:
        """Have TensorFlow's sessions tell of their runs."""
        from tensorflow.python.client import session

        wrap(session.BaseSession, "run", self._run)
        wrap(session.BaseSession, "partial_run_setup", self._partial)
        wrap(session.BaseSession, "make_callable", self._callable)
        wrap(session.BaseSession, "_make_callable_from_options", self._from_options)

    def _run(self, original: Any, one: Any, fetches: Any, feed_dict: Any = None, *more: Any, **settings: Any) -> Any:
        with self._lines.paused():
            trains = self._asked(one.graph, fetches)
            self._feed(one.graph, feed_dict)
            done = original(one, fetches, feed_dict, *more, **settings)
        if trains:
            self._steps.took()
        return done

    def _partial(self, original: Any, one: Any, fetches: Any, feeds: Any = None) -> Any:
        if self._asked(one.graph, fetches):
            self._steps.took()
        self._feed(one.graph, feeds)
        return original(one, fetches, feeds)

    def _callable(self, original: Any, one: Any, fetches: Any, *more: Any, **settings: Any) -> Any:
        made = original(one, fetches, *more, **settings)
        return self._counted(made, self._asked(one.graph, fetches))

    def _from_options(self, original: Any, one: Any, options: Any) -> Any:
        names = [*options.fetch, *options.target]
        return self._counted(original(one, options), self._asked(one.graph, names))

    def _counted(self, made: Any, trains: bool) -> Any:
        if not trains:
            return made

        def call(*arguments: Any, **settings: Any) -> Any:
            done = made(*arguments, **settings)
            self._steps.took()
            return done

        return call

    def _feed(self, graph: Any, feeds: Any) -> None:
        with unharmed(self._notes):
            for feed in feeds or ():
                key = (id(graph), key_of(feed))
                if key not in self._fed:
                    self._fed[key] = feed
                    for one in elements_of(graph, [feed]):
                        self._notes.of(graph).feeds.setdefault(one.name)

    def _asked(self, graph: Any, fetches: Any) -> bool:
        """Note fetches; return whether they train."""
        with unharmed(self._notes):
            flat = list(flat_fetches(fetches))
            key = (id(graph), *map(key_of, flat))
            known = self._known.get(key)
            if known is None:
                known = self._known[key] = (self._first_asked(graph, flat), flat)
            return known[0]
        return False

    def _first_asked(self, graph: Any, fetches: list[Any]) -> bool:
        notes = self._notes.of(graph)
        elements = list(elements_of(graph, fetches))
        for one in elements:
            notes.fetches.setdefault(one.name)
        return self._trains([getattr(one, "op", one) for one in elements])

    def _trains(self, ops: Iterable[Any]) -> bool:
        """Whether what ops are computed from, or wait for, updates a variable."""
        pending, known = list(ops), {id(op) for op in ops}
        while pending:
            op = pending.pop()
            if self._updates(op):
                return True
            further = [*(one.op for one in op.inputs), *op.control_inputs]
            for name in (op.type, *(functions_of(op) if _may_call(op) else ())):
                further += self._body(name)
            new = [one for one in further if id(one) not in known]
            known.update(map(id, new))
            pending += new
        return False

    def _body(self, name: str) -> list[Any]:
        graph = self._notes.functions.get(name)
        return [] if graph is None else list(graph.get_operations())

    def _updates(self, op: Any) -> bool:
        if takes_steps(op.type):
            return True
        if not adds(op.type):
            return False
        notes = self._notes.of(op.graph)
        return bool(notes.optimizer_of(op)) or op.inputs[0].op.name in _trainable(op.graph)


def key_of(fetch: Any) -> int | str | bytes:
    """Return what tells a fetch from others as long as it lives; programs make names of them again for each run."""
    return fetch if isinstance(fetch, str | bytes) else id(fetch)


def _may_call(op: Any) -> bool:
    return any(word in op.type for word in ("Call", "While", "If", "Case"))


def _trainable(graph: Any) -> set[str]:
    found: set[str] = set()
    for one in graph.get_collection("trainable_variables"):
        for part in getattr(one, "_variable_list", None) or [one]:
            found.add(part.name.split(":")[0])
    return found


def flat_fetches(fetches: Any) -> Iterator[Any]:
    """Yield the single fetches of a structure, as `Session.run` takes it."""
    if isinstance(fetches, Mapping):
        for one in fetches.values():
            yield from flat_fetches(one)
    elif isinstance(fetches, list | tuple):
        for one in fetches:
            yield from flat_fetches(one)
    elif hasattr(type(fetches), "__attrs_attrs__"):
        for attribute in type(fetches).__attrs_attrs__:
            yield from flat_fetches(getattr(fetches, attribute.name))
    elif fetches is not None:
        yield fetches


def elements_of(graph: Any, fetches: Iterable[Any]) -> Iterator[Any]:
    """Yield the ops and tensors of a graph that fetches, or feeds, stand for."""
    for one in fetches:
        parts = [getattr(one, name) for name in _COMPONENTS if hasattr(one, name)]
        for part in parts if parts and not hasattr(one, "op_def") else [one]:
            try:
                element = graph.as_graph_element(part.decode() if isinstance(part, bytes) else part)
            except (TypeError, ValueError, KeyError, AttributeError):
                continue  # the session says what is wrong with it
            if element is not None:
                yield element
