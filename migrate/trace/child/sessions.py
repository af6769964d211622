"""Watches the runs of sessions, and tells those that are training steps."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from .patching import wrap
from .steps import Steps

#: Types of ops that write trained variables or tables, by which a step is known where its gradients are not.
_STEPS = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]|RecApply|(Resource)?Scatter(Nd)?(Add|Sub)$")
#: Words in the types of ops that call functions.
_CALLS = ("Call", "While", "If", "Case")
#: Attributes by which sparse, ragged and indexed tensors have their tensors.
_COMPONENTS = ("indices", "values", "dense_shape", "row_splits")


@dataclass
class Asked:
    """What is known of a set of fetches, which are kept alive: their ids are its key."""

    fetches: Any
    trains: bool = False
    ops: frozenset[str] = frozenset()  #: that it runs
    losses: list[Any] = field(default_factory=list)  #: that it trains by


class Sessions:
    """The steps of this process; a subclass says what is done at each.

    What is fetched of a graph is looked at once for each combination of fetches.
    """

    hears_losses = False  #: whether a step is also to fetch the losses that it trains by

    def __init__(self, steps: Steps, faults: list[str]) -> None:
        """Faults of ours are kept from the program, and told by this list."""
        self.steps, self._faults = steps, faults
        self._derived: WeakKeyDictionary[Any, list[tuple[Any, set[str]]]] = WeakKeyDictionary()
        self._asked: dict[tuple[Any, ...], Asked] = {}
        self._local = threading.local()

    def install(self) -> None:
        """Have TensorFlow's sessions tell of their runs, after the rewriter does: what it adds counts as time."""
        from tensorflow.python.client import session
        from tensorflow.python.ops import gradients_util

        wrap(gradients_util, "_GradientsHelper", self._differentiated)
        wrap(session.BaseSession, "run", self._run)
        wrap(session.BaseSession, "partial_run_setup", self._partial)
        wrap(session.BaseSession, "make_callable", self._callable)
        wrap(session.BaseSession, "_make_callable_from_options", self._from_options)

    def is_own(self) -> bool:
        """Whether a run is one of ours, which is no step."""
        return bool(getattr(self._local, "busy", False))

    def looked(self, graph: Any) -> None:
        """Hear of a graph of which something is fetched."""

    def begins(self) -> None:
        """Hear that a step begins."""
        if self.steps.is_over:  # the program has caught what ends it
            self.steps.took()

    def besides(self, graph: Any, asked: Asked) -> Any:
        """Return what a step is to fetch besides; empty if nothing."""
        return ()

    def ended(self, seconds: float, losses: Mapping[str, Any], graph: Any, asked: Asked, values: Any) -> None:
        """Hear that a step has ended: its time, losses by name, and the values of what it fetched besides."""

    def trained(self, model: Any) -> None:
        """Hear of the model of Keras that has taken a step."""

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Take no run within a step, such as one of the rewriter's own, as a step."""
        self._local.busy = True
        try:
            yield
        finally:
            self._local.busy = False

    @contextlib.contextmanager
    def unharmed(self) -> Iterator[None]:
        """Keep a fault of ours from the program."""
        try:
            yield
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            if fault not in self._faults:
                self._faults.append(fault)

    def _differentiated(self, original: Any, ys: Any, *arguments: Any, **named: Any) -> Any:
        gradients = original(ys, *arguments, **named)
        with self.unharmed():
            ops = {_tensor(one).op.name for one in gradients if one is not None}
            for loss in ys if isinstance(ys, list | tuple) else [ys]:
                if loss.graph is not None and not loss.graph.building_function and loss.dtype.is_floating:
                    self._derived.setdefault(loss.graph, []).append((loss, ops))
        return gradients

    def _run(self, original: Any, session: Any, fetches: Any, feed_dict: Any = None, *more: Any, **named: Any) -> Any:
        asked = self._look(session.graph, fetches)
        if not asked.trains:
            return original(session, fetches, feed_dict, *more, **named)
        self.begins()
        besides: Any = ()
        with self.unharmed():
            besides = self.besides(session.graph, asked)
        begun = time.perf_counter()
        with self.busy():
            losses = asked.losses if self.hears_losses else []
            result = original(session, (fetches, losses, besides), feed_dict, *more, **named)
        self._took(begun, zip(losses, result[1], strict=True), session.graph, asked, result[2])
        return result[0]

    def _partial(self, original: Any, session: Any, fetches: Any, feeds: Any = None) -> Any:
        asked = self._look(session.graph, fetches)
        if asked.trains:
            self.begins()
            self._took(time.perf_counter(), (), session.graph, asked, ())
        return original(session, fetches, feeds)

    def _callable(self, original: Any, session: Any, fetches: Any, *more: Any, **named: Any) -> Any:
        asked = self._look(session.graph, fetches)
        return self._counted(original(session, fetches, *more, **named), session.graph, fetches, asked)

    def _from_options(self, original: Any, session: Any, options: Any) -> Any:
        asked = self._look(session.graph, [*options.fetch, *options.target])
        fetches = list(elements_of(session.graph, options.fetch))
        return self._counted(original(session, options), session.graph, fetches, asked)

    def _counted(self, original: Any, graph: Any, fetches: Any, asked: Asked) -> Any:
        """Return a callable of a session that takes steps; the losses are those that it returns."""
        if not asked.trains:
            return original

        def call(*arguments: Any, **settings: Any) -> Any:
            self.begins()
            begun = time.perf_counter()
            with self.busy():
                result = original(*arguments, **settings)
            self._took(begun, _floats(fetches, result), graph, asked, ())
            return result

        return call

    def _took(self, begun: float, losses: Iterable[tuple[Any, Any]], graph: Any, asked: Asked, values: Any) -> None:
        seconds = time.perf_counter() - begun
        with self.unharmed(), self.busy():
            self.ended(seconds, {tensor.op.name: value for tensor, value in losses}, graph, asked, values)
        self.steps.took()

    def _look(self, graph: Any, fetches: Any) -> Asked:
        """Return what is known of fetches."""
        if not self.is_own():
            with self.unharmed():
                self.looked(graph)
                flat = list(flat_fetches(fetches))
                key = (id(graph), *map(_key_of, flat))
                known = self._asked.get(key)
                if known is None:
                    known = self._asked[key] = self._first_look(graph, flat)
                return known
        return Asked(None)

    def _first_look(self, graph: Any, fetches: list[Any]) -> Asked:
        ops = _behind(graph, fetches)
        asked = Asked((graph, fetches), ops=frozenset(op.name for op in ops))
        for loss, gradients in self._derived.get(graph, ()):
            if not asked.ops.isdisjoint(gradients):
                asked.trains = True
                if (loss.shape.rank or 0) < 2 and loss not in asked.losses:
                    asked.losses.append(loss)
        asked.trains = asked.trains or any(_STEPS.match(kind) for kind in _types(graph, ops))
        if asked.trains and not asked.losses:  # its graph was read from a file
            asked.losses = [one for one in fetches if _is_number(one)]
        return asked


def flat_fetches(fetches: Any) -> Iterator[Any]:
    """Yield the single fetches of a structure, as `Session.run` takes it."""
    if isinstance(fetches, Mapping):
        for fetch in fetches.values():
            yield from flat_fetches(fetch)
    elif isinstance(fetches, list | tuple):
        for fetch in fetches:
            yield from flat_fetches(fetch)
    elif hasattr(type(fetches), "__attrs_attrs__"):
        for attribute in type(fetches).__attrs_attrs__:
            yield from flat_fetches(getattr(fetches, attribute.name))
    elif fetches is not None:
        yield fetches


def elements_of(graph: Any, fetches: Iterable[Any]) -> Iterator[Any]:
    """Yield the ops and tensors of a graph that fetches stand for."""
    for fetch in fetches:
        parts = [getattr(fetch, name) for name in _COMPONENTS if hasattr(fetch, name)]
        for part in parts if parts and not hasattr(fetch, "op_def") else [fetch]:
            try:
                element = graph.as_graph_element(part.decode() if isinstance(part, bytes) else part)
            except (TypeError, ValueError, KeyError, AttributeError):
                continue  # the session says what is wrong with it
            if element is not None:
                yield element


def _key_of(fetch: Any) -> int | str | bytes:
    """Return what tells a fetch from others as long as it lives; programs make names of them again for each run."""
    return fetch if isinstance(fetch, str | bytes) else id(fetch)


def _is_number(fetch: Any) -> bool:
    return hasattr(fetch, "dtype") and fetch.dtype.is_floating and fetch.shape.rank == 0 and hasattr(fetch, "op")


def _floats(fetches: Any, result: Any) -> list[tuple[Any, Any]]:
    """Return the tensors of a structure of fetches that are one number, with their values."""
    import tensorflow as tf

    pairs = zip(tf.nest.flatten(fetches), tf.nest.flatten(result), strict=False)
    return [(one, value) for one, value in pairs if _is_number(one) and value is not None]


def _tensor(fetch: Any) -> Any:
    """Return the values of sparse or indexed ones; an op has a method of that name."""
    values = getattr(fetch, "values", fetch)
    return fetch if callable(values) else values


def _behind(graph: Any, fetches: Iterable[Any]) -> list[Any]:
    """Return the ops that fetches are computed from, or wait for, with their own."""
    pending = [getattr(one, "op", one) for one in elements_of(graph, fetches)]
    known = {id(one) for one in pending}
    behind = []
    while pending:
        op = pending.pop()
        behind.append(op)
        new = [one for one in (*(tensor.op for tensor in op.inputs), *op.control_inputs) if id(one) not in known]
        new = list({id(one): one for one in new}.values())
        known.update(map(id, new))
        pending += new
    return behind


def _types(graph: Any, ops: Iterable[Any]) -> Iterator[str]:
    """Yield the types of ops, and of those in functions that they call."""
    yield from (op.type for op in ops)
    calls = [op for op in ops if any(word in op.type for word in _CALLS)]
    pending = [name for op in calls for name in _called(op.node_def)]
    known = set[str]()
    while pending:
        name = pending.pop()
        function = graph._get_function(name) if name not in known else None
        known.add(name)
        definition = getattr(function, "cached_definition", None) or getattr(function, "definition", None)
        for node in definition.node_def if definition is not None else ():
            yield node.op
            pending += _called(node)


def _called(node: Any) -> list[str]:
    """Return the names of the functions that a node calls."""
    return [one.name for value in node.attr.values() for one in (value.func, *value.list.func) if one.name]
