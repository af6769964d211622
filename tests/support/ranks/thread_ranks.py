"""Ranks as threads of this process, in eager mode and v1 sessions: `run(size, body)` calls `body()` as each rank."""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import mock
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf

from runtime.ranks import process_group
from runtime.ranks.engine import Engine, Route

_SECONDS = 60.0


class Shelf:
    """Where the threads find what the others have left; an exchange is known by its number and kind."""

    def __init__(self, size: int) -> None:
        self._size, self._lock = size, threading.Lock()
        self._left: dict[Any, dict[int, Any]] = defaultdict(dict)
        self._barriers: dict[Any, threading.Barrier] = {}

    def all(self, key: Any, rank: int, mine: Any) -> list[Any]:
        """Leave `mine`, and return what all ranks have left."""
        with self._lock:
            barrier = self._barriers.setdefault(key, threading.Barrier(self._size))
            self._left[key][rank] = mine
        barrier.wait(_SECONDS)
        every = [self._left[key][one] for one in range(self._size)]
        barrier.wait(_SECONDS)
        return every

    def abort(self) -> None:
        """Let nobody wait any more."""
        for barrier in self._barriers.values():
            barrier.abort()


class Threads(Engine):
    """Each exchange leaves arrays where the other threads find them."""

    name = "threads"
    seed = 1

    def __init__(self, rank: int, size: int, shelf: Shelf) -> None:
        self.rank, self.size, self._shelf = rank, size, shelf
        #: Numbers of exchanges in each graph. A function that makes variables is traced twice, and then counts anew.
        self._numbers: WeakKeyDictionary[Any, Iterator[int]] = WeakKeyDictionary()
        #: The kinds of messages that this rank has taken part in, in their order.
        self.messages: list[str] = []

    def _run(
        self, kind: str, inputs: list[tf.Tensor], types: Any, given: Callable[..., Any], got: Callable[..., Any]
    ) -> Any:
        """Leave given(*inputs) on the shelf, and return got(what all have left)."""
        graph = self if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        key = kind, next(self._numbers.setdefault(graph, itertools.count()))

        def exchange(*arrays: np.ndarray) -> Any:
            self.messages.append(kind)
            return got(self._shelf.all(key, self.rank, given(*arrays)))

        return tf.numpy_function(exchange, inputs, types)

    def route(self, counts: tf.Tensor) -> Route:
        return self.routes(tf.reshape(counts, [-1, 1]))[0]

    def routes(self, counts: tf.Tensor) -> list[Route]:
        every = self._run("route", [counts], tf.int32, lambda own: own, np.stack)
        every.set_shape([self.size, self.size, counts.shape[1]])
        return [
            Route(counts[:, i], every[:, self.rank, i], tf.reduce_max(every[:, :, i])) for i in range(counts.shape[1])
        ]

    def all_to_all(self, values: tf.Tensor, route: Route) -> tf.Tensor:
        @tf.custom_gradient
        def exchange(values: tf.Tensor) -> Any:
            return self._exchanged(values, route), lambda gradient: self._exchanged(gradient, route.back())

        return exchange(values)

    def _exchanged(self, values: tf.Tensor, route: Route) -> tf.Tensor:
        def given(own: np.ndarray, counts: np.ndarray, received: np.ndarray, longest: int) -> Any:
            assert counts.sum() == len(own)
            assert max(counts.max(), received.max()) <= longest
            return np.split(own, np.cumsum(counts)[:-1])

        def got(every: list[Any]) -> np.ndarray:
            return np.concatenate([parts[self.rank] for parts in every])

        inputs = [values, route.counts, route.received, route.longest]
        rows = self._run("all_to_all", inputs, values.dtype, given, got)
        rows.set_shape([None, *values.shape[1:]])
        return rows

    def all_gather(self, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def got(every: list[np.ndarray]) -> Any:
            return np.concatenate(every), np.array([len(one) for one in every], np.int32)

        rows, counts = self._run("all_gather", [values], [values.dtype, tf.int32], lambda own: own, got)
        rows.set_shape([None, *values.shape[1:]])
        counts.set_shape([self.size])
        return rows, counts

    def all_reduce(self, values: tf.Tensor) -> tf.Tensor:
        total = self._run("all_reduce", [values], values.dtype, lambda own: own, lambda every: np.sum(every, 0))
        total.set_shape(values.shape)
        return total

    def barrier(self) -> None:
        self.all_reduce(tf.zeros([1]))


class _Here(threading.local):
    engine: Engine = process_group.Alone()


def run(size: int, body: Callable[[], Any]) -> tuple[list[Any], list[Threads]]:
    """Return what `body` returns on each rank, and the engines."""
    here, shelf = _Here(), Shelf(size)
    engines = [Threads(rank, size, shelf) for rank in range(size)]

    class Current(list[Engine]):
        def __getitem__(self, _: Any) -> Any:
            return here.engine

    def one(engine: Threads) -> Any:
        here.engine = engine
        try:
            return body()
        except BaseException:
            shelf.abort()
            raise

    with mock.patch.object(process_group, "_current", Current()), ThreadPoolExecutor(size) as pool:
        try:
            return [result.result() for result in [pool.submit(one, engine) for engine in engines]], engines
        finally:
            # Where a rank has returned with an error, an exchange of another lane may still wait for it, on one of the
            # few threads that all sessions of this process have.
            shelf.abort()
