"""DeepRec's prefetching of batches: `tf.staged`, `tf.prefetch_join`, and the hook whose threads run them.

A batch that needs no feeds is given back as it is: each step computes its own, and `Dataset.prefetch` reads ahead.
Others are put into a queue by threads that the hook starts.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

v1: Any = tf.compat.v1
_STAGES = "runtime_compat_deeprec_stages"
_ENDS = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


def staged(
    features: Any,
    feed_dict: Any = None,
    capacity: int = 1,
    num_threads: int = 1,
    num_clients: int = 1,
    timeout_millis: int = 300000,
    closed_exception_types: Any = (tf.errors.OUT_OF_RANGE,),
    ignored_exception_types: Any = (),
    use_stage_subgraph_thread_pool: bool = False,
    stage_subgraph_thread_pool_id: int = 0,
    stage_subgraph_stream_id: int = 0,
    name: str | None = None,
    feed_generator: Any = None,
    feed_list: Any = None,
) -> Any:
    """Return tensors with the structure of `features`, which threads of `make_prefetch_hook()` compute beforehand.

    What they depend on can be fed: `feed_dict` maps placeholders to tensors, whose values are computed first; or
    `feed_generator` yields the values of `feed_list` for each batch, or dicts. Its end closes the queue, as errors of
    `closed_exception_types` do; after those of `ignored_exception_types` the next batch is tried. Where there is none
    of these, `features` are returned, and each step computes its own.

    Raises:
        ValueError: there is fewer than one thread or place, a feed is no tensor, or a generator has no feed_list.
    """
    del num_clients, timeout_millis
    del use_stage_subgraph_thread_pool, stage_subgraph_thread_pool_id, stage_subgraph_stream_id
    if num_threads < 1 or capacity < 1:
        raise ValueError(f"num_threads {num_threads!r} and capacity {capacity!r} of tf.staged must be 1 or more")
    feeds = _Feeds.of(feed_dict, feed_list, feed_generator)
    ends, skipped = _errors(closed_exception_types), _errors(ignored_exception_types)
    if feeds is None and not skipped and all(issubclass(one, _ENDS) for one in ends):
        return features
    return _buffered([features] * num_threads, feeds, capacity, ends, skipped, name)


def prefetch_join(
    thread_to_features: Sequence[Any],
    feed_dict: Any = None,
    capacity: int = 1,
    num_clients: int = 1,
    timeout_millis: int = 300000,
    closed_exception_types: Any = (tf.errors.OUT_OF_RANGE,),
    ignored_exception_types: Any = (),
    name: str | None = None,
) -> Any:
    """Return a batch of any of these sources, each of which a thread of `make_prefetch_hook()` reads.

    Raises:
        ValueError: there is no source or place, or a feed is no tensor.
    """
    del num_clients, timeout_millis
    if len(thread_to_features) < 1 or capacity < 1:
        raise ValueError("tf.prefetch_join needs at least one source of features, and a capacity of 1 or more")
    ends, skipped = _errors(closed_exception_types), _errors(ignored_exception_types)
    return _buffered(list(thread_to_features), _Feeds.of(feed_dict, None, None), capacity, ends, skipped, name)


@dataclass(frozen=True)
class _Feeds:
    """Values for placeholders: of tensors, or of a generator, which threads ask one after the other."""

    tensors: dict[Any, Any]
    keys: tuple[Any, ...] = ()
    generator: Any = None
    lock: Any = None

    @classmethod
    def of(cls, feed_dict: Any, feed_list: Any, generator: Any) -> _Feeds | None:
        if generator is None and not feed_dict and feed_list is None:
            return None
        if generator is not None:
            keys = tuple(feed_list or (feed_dict if isinstance(feed_dict, (list, tuple)) else ()))
            return cls({}, keys, iter(generator() if callable(generator) else generator), threading.Lock())
        if not isinstance(feed_dict, dict):
            raise ValueError("tf.staged has a feed_list without a feed_generator: give one, which yields its values")
        for key, value in feed_dict.items():
            if not all(tf.is_tensor(one) for one in tf.nest.flatten(value, expand_composites=True)):
                raise ValueError(f"the feed of {key!r} in tf.staged is {value!r}: give a tensor, or a feed_generator")
        return cls(dict(feed_dict))

    def values(self, session: Any) -> dict[Any, Any]:
        """Return the next feeds; raises StopIteration at the end of the generator."""
        if self.generator is None:
            computed = session.run(list(self.tensors.values()))
            return dict(zip(self.tensors, computed, strict=True))
        with self.lock:
            yielded = next(self.generator)
        if isinstance(yielded, dict):
            return yielded
        if len(yielded) != len(self.keys):
            raise ValueError(
                f"the feed_generator of tf.staged yields {len(yielded)} values, and feed_list has {len(self.keys)}: "
                "give a value for each"
            )
        return dict(zip(self.keys, yielded, strict=True))


@dataclass(frozen=True)
class _Stage:
    """A queue of batches: the op of each thread that puts one in, and what ends or skips it."""

    puts: list[tf.Operation]
    close: tf.Operation
    cancel: tf.Operation
    feeds: _Feeds | None
    ends: tuple[type[BaseException], ...]
    skipped: tuple[type[BaseException], ...]
    #: Threads of each session that have not ended; they change it under the lock.
    open: dict[int, int]
    lock: Any

    def run(self, put: tf.Operation, session: Any, coordinator: Any) -> None:
        """Put batches into the queue until they end."""
        ended: tuple[type[BaseException], ...] = (StopIteration, *self.ends)
        try:
            while not coordinator.should_stop():
                try:
                    session.run(put, None if self.feeds is None else self.feeds.values(session))
                except self.skipped:
                    continue
        except ended:
            self._end(session)
        except Exception as error:
            if not coordinator.should_stop():
                coordinator.request_stop(error)

    def _end(self, session: Any) -> None:
        """Close the queue once the last thread has ended: batches that other threads compute still come."""
        with self.lock:
            self.open[id(session)] -= 1
            last = self.open[id(session)] == 0
        if last:
            self._try(session, self.close)

    def stop(self, session: Any, coordinator: Any) -> None:
        """Wait until the session is to end, and let the threads go that wait for a place."""
        coordinator.wait_for_stop()
        self._try(session, self.cancel)

    @staticmethod
    def _try(session: Any, op: tf.Operation) -> None:
        with contextlib.suppress(tf.errors.OpError, RuntimeError):  # the session is closed, or has closed the queue
            session.run(op)


def _errors(errors: Any) -> tuple[type[BaseException], ...]:
    """Return the classes of errors that are given as classes or as TensorFlow's codes."""
    listed = errors if isinstance(errors, (list, tuple)) else (errors,)
    return tuple(tf.errors.exception_type_from_error_code(one) if isinstance(one, int) else one for one in listed)


def _buffered(
    sources: list[Any], feeds: _Feeds | None, capacity: int, ends: Any, skipped: Any, name: str | None
) -> Any:
    flat = [tf.nest.flatten(one, expand_composites=True) for one in sources]
    parts = [[tf.convert_to_tensor(one) for one in own if one is not None] for own in flat]
    with tf.name_scope(name or "prefetch"), tf.device("/device:CPU:0"):
        queue = v1.FIFOQueue(capacity, [one.dtype for one in parts[0]])
        puts = [queue.enqueue(own) for own in parts]
        close, cancel = queue.close(), queue.close(cancel_pending_enqueues=True)
        taken = queue.dequeue()
    taken = list(taken) if isinstance(taken, (list, tuple)) else [taken]
    for element, part in zip(taken, parts[0], strict=True):
        element.set_shape(part.shape)
    v1.add_to_collection(_STAGES, _Stage(puts, close, cancel, feeds, ends, skipped, {}, threading.Lock()))
    elements = iter(taken)
    packed = [None if one is None else next(elements) for one in flat[0]]
    return tf.nest.pack_sequence_as(sources[0], packed, expand_composites=True)


class _Hook(v1.train.SessionRunHook):  # type: ignore[misc]
    """Starts the threads of the graph's stages in each new session."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        for stage in session.graph.get_collection(_STAGES):
            stage.open[id(session)] = len(stage.puts)
            for put in stage.puts:
                _start(stage.run, (put, session, coord), coord)
            _start(stage.stop, (session, coord), coord)


def _start(target: Callable[..., None], arguments: tuple[Any, ...], coordinator: Any) -> None:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    coordinator.register_thread(thread)
    thread.start()


def make_prefetch_hook() -> Any:
    """Return the hook whose threads compute what `staged` and `prefetch_join` return."""
    return _Hook()


def mark_target_node(nodes: Any) -> None:
    """Do nothing: the marks are for a graph optimization of DeepRec that changes no result."""
    del nodes
