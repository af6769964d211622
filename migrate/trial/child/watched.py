"""Watches training steps of sessions: how long each takes, and the loss that it trains by; takes turns in between."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from .buckets import Buckets
from .noted import Noted
from .settings import Settings

wrap = importlib.import_module("_recmigrate_tracer.patching").wrap
_Steps = importlib.import_module("_recmigrate_tracer.steps").Steps
_fetches = importlib.import_module("_recmigrate_tracer.sessions")
#: Types of ops that write trained variables or tables, by which a step is known where its gradients are not.
_STEPS = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]|RecApply|(Resource)?Scatter(Nd)?(Add|Sub)$")


@dataclass
class _Asked:
    """What is known of a set of fetches, which are kept alive: their ids are its key."""

    fetches: Any
    trains: bool = False
    ops: frozenset[str] = frozenset()  #: that it runs
    losses: list[Any] = field(default_factory=list)


class Watched:
    """The steps of this process."""

    def __init__(self, settings: Settings, noted: Noted) -> None:
        self._settings, self._noted = settings, noted
        self._derived: WeakKeyDictionary[Any, list[tuple[Any, set[str]]]] = WeakKeyDictionary()
        self._asked: dict[tuple[Any, ...], _Asked] = {}
        self._local = threading.local()
        self._turns = _Turns(settings)
        self._buckets = Buckets(noted)
        self.steps = _Steps(settings.steps, self._counted)

    def install(self) -> None:
        """Have TensorFlow's sessions tell of their runs, after the rewriter does: what it adds counts as time."""
        from tensorflow.python.client import session
        from tensorflow.python.ops import gradients_util

        wrap(gradients_util, "_GradientsHelper", self._differentiated)
        wrap(session.BaseSession, "run", self._run)
        wrap(session.BaseSession, "make_callable", self._callable)

    def _differentiated(self, original: Any, ys: Any, *arguments: Any, **named: Any) -> Any:
        found = original(ys, *arguments, **named)
        with self._unharmed():
            ops = {_tensor(one).op.name for one in found if one is not None}
            for loss in ys if isinstance(ys, list | tuple) else [ys]:
                if loss.graph is not None and not loss.graph.building_function and loss.dtype.is_floating:
                    self._derived.setdefault(loss.graph, []).append((loss, ops))
        return found

    def _run(self, original: Any, session: Any, fetches: Any, feed_dict: Any = None, *more: Any, **named: Any) -> Any:
        asked = self._look(session.graph, fetches)
        if not asked.trains:
            return original(session, fetches, feed_dict, *more, **named)
        self.begin()
        extra: list[Any] = []
        with self._unharmed():
            extra = self._buckets.fetched(session.graph, asked) if self._settings.counts_ids else []
        begun = time.perf_counter()
        with self.busy():
            wanted = {"fetches": fetches, "losses": asked.losses, "more": extra}
            result = original(session, wanted, feed_dict, *more, **named)
        self._took(time.perf_counter() - begun, asked.losses, result["losses"])
        with self._unharmed():
            if extra:
                self._buckets.note(session.graph, asked, result["more"])
        self.steps.took()
        return result["fetches"]

    def begin(self) -> None:
        """Wait for the turn, before a step."""
        if self.steps.is_over:  # the program has caught what ends it
            self.steps.took()
        self._turns.take(self.steps.count)

    def _callable(self, original: Any, session: Any, fetches: Any, *more: Any, **named: Any) -> Any:
        made, asked = original(session, fetches, *more, **named), self._look(session.graph, fetches)
        if not asked.trains:
            return made

        def call(*arguments: Any, **settings: Any) -> Any:
            self.begin()
            begun = time.perf_counter()
            with self.busy():
                result = made(*arguments, **settings)
            self._took(time.perf_counter() - begun, *_floats(fetches, result))
            self.steps.took()
            return result

        return call

    def _took(self, seconds: float, tensors: Iterable[Any], values: Iterable[Any]) -> None:
        import numpy as np

        with self._unharmed(), self.busy():
            pairs = zip(tensors, values, strict=True)
            self._noted.step(seconds, {one.op.name: float(np.mean(value, dtype=np.float64)) for one, value in pairs})

    def _counted(self, last: bool) -> None:
        """Write when the last step has been taken; `last` says that the process is ended at once."""
        if self.steps.count == self._settings.steps:
            self._turns.end()
            self._noted.write()
        if last:
            self._noted.finish()

    def _look(self, graph: Any, fetches: Any) -> _Asked:
        """Return what is known of fetches; nothing trains while the rewriter runs graphs of its own."""
        installed = self._noted.installed
        if getattr(self._local, "busy", False) or (installed is not None and installed.graphs._own):
            return _Asked(None)
        with self._unharmed():
            flat = list(_fetches.flat_fetches(fetches))
            key = (id(graph), *map(_fetches.key_of, flat))
            known = self._asked.get(key)
            if known is None:
                known = self._asked[key] = self._first_look(graph, flat)
            return known
        return _Asked(None)

    def _first_look(self, graph: Any, fetches: list[Any]) -> _Asked:
        asked = _Asked((graph, fetches))
        ops = _behind(graph, fetches)
        asked.ops = names = frozenset(one.name for one in ops)
        for loss, gradients in self._derived.get(graph, ()):
            if not names.isdisjoint(gradients) and (loss.shape.rank or 0) < 2 and loss not in asked.losses:
                asked.losses.append(loss)
        asked.trains = bool(asked.losses) or any(_STEPS.match(one.type) for one in ops)
        if asked.trains and not asked.losses:  # its graph was read from a file
            asked.losses = [one for one in fetches if _is_number(one)]
        return asked

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Take no run within a step, such as one of the rewriter's own, as a step."""
        self._local.busy = True
        try:
            yield
        finally:
            self._local.busy = False

    @contextlib.contextmanager
    def _unharmed(self) -> Iterator[None]:
        """Keep a fault of ours from the program."""
        try:
            yield
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            if fault not in self._noted.faults:
                self._noted.faults.append(fault)


class _Turns:
    """Waits until it is this side's turn; the process of a side that first takes a step is the one that does."""

    def __init__(self, settings: Settings) -> None:
        self._block, self._side = settings.block, settings.side
        self._pipes: tuple[int, int] | None = None
        self._leads: bool | None = None

    def take(self, step: int) -> None:
        """Wait before the first step of a block."""
        if not self._block or step % self._block:
            return
        if self._leads is None:
            self._leads = self._begin()
        if self._pipes is not None:
            self._say(b"w")
            if not os.read(self._pipes[1], 1):
                os._exit(1)

    def end(self) -> None:
        """Say that no more steps follow."""
        if self._pipes is not None:
            self._say(b"e")
            self._pipes = None

    def _say(self, letter: bytes) -> None:
        try:
            os.write(self._pipes[0], letter)  # type: ignore[index]
        except OSError:  # the command was killed: this program is a part of its trial
            os._exit(1)

    def _begin(self) -> bool:
        try:
            os.close(os.open(os.path.join(self._side, "leads"), os.O_CREAT | os.O_EXCL))  # noqa: PTH118
        except OSError:
            return False
        ask, go = (os.path.join(self._side, name) for name in ("ask", "go"))  # noqa: PTH118
        try:
            self._pipes = os.open(ask, os.O_WRONLY | os.O_NONBLOCK), os.open(go, os.O_RDONLY)
        except OSError:
            os._exit(1)
        return True


def _is_number(fetch: Any) -> bool:
    return hasattr(fetch, "dtype") and fetch.dtype.is_floating and fetch.shape.rank == 0 and hasattr(fetch, "op")


def _floats(fetches: Any, result: Any) -> tuple[list[Any], list[Any]]:
    """Return the tensors of a structure of fetches that are one number, and their values."""
    import tensorflow as tf

    pairs = zip(tf.nest.flatten(fetches), tf.nest.flatten(result), strict=False)
    found = [(one, value) for one, value in pairs if _is_number(one) and value is not None]
    return [one for one, _ in found], [value for _, value in found]


def _tensor(one: Any) -> Any:
    """Return the values of sparse or indexed ones; an op has a method of that name."""
    values = getattr(one, "values", one)
    return one if callable(values) else values


def _behind(graph: Any, fetches: Iterable[Any]) -> list[Any]:
    """Return the ops that fetches are computed from, or wait for, with their own."""
    pending = [getattr(one, "op", one) for one in _fetches.elements_of(graph, fetches)]
    known = {id(one) for one in pending}
    found = []
    while pending:
        op = pending.pop()
        found.append(op)
        new = [one for one in (*(tensor.op for tensor in op.inputs), *op.control_inputs) if id(one) not in known]
        new = list({id(one): one for one in new}.values())
        known.update(map(id, new))
        pending += new
    return found
