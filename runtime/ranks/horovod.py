"""The engine on Horovod: v1 graphs, sessions and Estimator, eager mode and `tf.function`.

Horovod's ops wait without blocking a thread, and its coordinator starts an op once every rank has reached it, matched
by name. So names matter and order does not: an exchange is named by its number in its graph, which all ranks build
alike, and the exchange of its gradients by its name.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import secrets
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.ranks.engine import Engine, RanksError, Route, listed, with_gradient

_numbers: WeakKeyDictionary[tf.Graph, Iterator[int]] = WeakKeyDictionary()
_ENDED = "ZX"
_SUSPENDED = "Tt"
_SCOPE = "recmigrate_started"
_RETRY_SECONDS = 0.1
_TRY_SECONDS = 5.0


def launched() -> bool:
    """Whether `horovodrun`, or `runtime.launch --engine horovod`, has started this process."""
    return "HOROVOD_RANK" in os.environ


class Horovod(Engine):
    """Horovod's collectives, by Gloo, MPI or NCCL, depending on its build."""

    name = "horovod"

    def __init__(self, timeout_seconds: float) -> None:
        """Connect to the other ranks.

        Raises:
            RanksError: Horovod is not installed, or was not built for this TensorFlow, or a rank has not started within
                the timeout.
        """
        try:
            import horovod.tensorflow as hvd  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except Exception as error:  # a build for another TensorFlow raises various errors of the dynamic loader
            raise RanksError(
                f"Horovod cannot be imported ({error}): build it for this TensorFlow with `make horovod` or as "
                "docs/ranks.md says; or, for eager mode and tf.function, use the engine 'collectives'"
            ) from error
        _set_timeout(timeout_seconds)
        meet(timeout_seconds)
        self._hvd: Any = hvd
        hvd.init()
        self.rank, self.size = int(hvd.rank()), int(hvd.size())
        own = np.array([[secrets.randbits(62), *_identity()]], np.int64)
        every = self._at_once(lambda values: hvd.allgather(values, name="recmigrate_start"), own)
        self.seed = int(every[0, 0])
        self._processes = every[:, 1:]

    def route(self, counts: tf.Tensor) -> Route:
        """See `Engine`."""
        return self.routes(tf.reshape(counts, [self.size, 1]))[0]

    def routes(self, counts: tf.Tensor) -> list[Route]:
        """See `Engine`."""
        counts = tf.cast(counts, tf.int32)
        received = self._all_to_all(counts, tf.ones([self.size], tf.int32), _name("counts"))
        received.set_shape([self.size, counts.shape[1]])
        return [Route(counts[:, i], received[:, i], tf.reduce_max(counts[:, i])) for i in range(counts.shape[1])]

    def all_to_all(self, values: tf.Tensor, route: Route) -> tf.Tensor:
        """See `Engine`."""
        name = _name("rows")
        return with_gradient(
            values,
            lambda values: self._all_to_all(values, route.counts, name),
            lambda gradient: self._all_to_all(gradient, route.received, _back(name)),
        )

    def _all_to_all(self, values: tf.Tensor, splits: tf.Tensor, name: str | None) -> tf.Tensor:
        received: tf.Tensor = self._hvd.alltoall(_given(values), splits=splits, name=name)[0]
        return received

    def all_gather(self, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """See `Engine`."""
        name = _name("gathered")
        counts = self._hvd.allgather(_given(tf.shape(values)[:1]), name=_name("sizes"))
        counts.set_shape([self.size])
        before = tf.reduce_sum(counts[: self.rank])
        rows = with_gradient(
            values,
            lambda values: self._hvd.allgather(_given(values), name=name),
            lambda gradient: self._sum(gradient, _back(name))[before : before + counts[self.rank]],
        )
        return rows, counts

    def all_reduce(self, values: tf.Tensor) -> tf.Tensor:
        """See `Engine`."""
        name = _name("sum")
        total = with_gradient(
            values, lambda values: self._sum(values, name), lambda gradient: self._sum(gradient, _back(name))
        )
        total.set_shape(values.shape)
        return total

    def _sum(self, values: tf.Tensor, name: str | None) -> tf.Tensor:
        total: tf.Tensor = self._hvd.allreduce(_given(values), op=self._hvd.Sum, name=name)
        return total

    def barrier(self) -> None:
        """See `Engine`."""
        self._at_once(lambda values: self._sum(values, "recmigrate_barrier"), np.zeros([1], np.int64))

    def missing(self, seconds: float = 5.0) -> list[int]:
        """See `Engine`; it only knows about ranks on this machine."""
        return _not_running(self._processes)

    def _at_once(self, exchange: Callable[[tf.Tensor], tf.Tensor], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Run an exchange at once, outside of any graph that is being built."""
        with tf.init_scope():
            if tf.executing_eagerly():
                return np.asarray(exchange(tf.constant(values)))
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            fed = tf.compat.v1.placeholder(tf.int64, values.shape)
            return np.asarray(session.run(exchange(fed), {fed: values}))


def _set_timeout(seconds: float) -> None:
    """Set how long Gloo waits for a process, and the coordinator for a running process that does not take part."""
    whole = max(1, math.ceil(seconds))
    os.environ["HOROVOD_GLOO_TIMEOUT_SECONDS"] = str(whole)
    os.environ["HOROVOD_STALL_CHECK_TIME_SECONDS"] = str(max(1, whole // 2))
    os.environ["HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"] = str(whole)


def _given(values: tf.Tensor) -> tf.Tensor:
    """Return `values` as a tensor that TensorFlow cannot treat as a constant.

    Horovod's ops are not stateful. When TensorFlow optimizes a graph it would run exchanges of constants, and merge
    equal exchanges: only on ranks whose tensors are constants, not on the others.
    """
    if tf.executing_eagerly():
        return values
    return tf.raw_ops.PlaceholderWithDefault(input=values, shape=values.shape)


def _name(kind: str) -> str | None:
    """Return a name for an exchange that is equal on all ranks; None in eager mode, where exchanges run one at a time.

    For nested functions the outermost one counts, because once they are inlined their exchanges run in parallel.
    """
    if tf.executing_eagerly():
        return None
    graph = tf.compat.v1.get_default_graph()
    while graph.building_function and getattr(graph.outer_graph, "building_function", False):
        graph = graph.outer_graph
    number = next(_numbers.setdefault(graph, itertools.count()))
    return re.sub(r"\W", "_", f"recmigrate_{kind}_{getattr(graph, 'name', 'graph')}_{number}")


def _back(name: str | None) -> str | None:
    return None if name is None or tf.executing_eagerly() else f"{name}_back"


def _identity() -> tuple[int, int]:
    """Return two numbers that identify this process to ranks on the same machine: machine and process id."""
    return _machine(), os.getpid()


def _not_running(processes: NDArray[np.int64]) -> list[int]:
    """Return the ranks of this machine whose process, [ranks, 2] from `_identity`, has ended or is suspended."""
    here = _machine()
    return [
        rank
        for rank, (machine, number) in enumerate(processes.tolist())
        if machine == here and _state(number) in f"{_ENDED}{_SUSPENDED}"
    ]


def _state(process: int) -> str:
    """Return Linux's letter for the state of a process; X if it does not exist."""
    try:
        # The process name before it, in parentheses, may contain anything.
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "X"


def _machine() -> int:
    """Return a number for this boot of this machine and its process-id namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return zlib.crc32(f"{boot}{os.readlink('/proc/self/ns/pid')}".encode())  # noqa: PTH115
    except OSError:
        return 0


def meet(seconds: float) -> None:
    """Wait until all ranks of the launcher have started: before that, Horovod's Gloo would abort the process.

    They report to the key-value store of the launcher (`horovodrun`, `runtime.launch --engine horovod`). Ranks that
    `mpirun` starts have none, and it returns at once: MPI starts all of them or none.

    Raises:
        RanksError: a rank has not started in time.
    """
    try:
        address, port = os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]
        rank, size = int(os.environ["HOROVOD_RANK"]), int(os.environ["HOROVOD_SIZE"])
    except (KeyError, ValueError):
        return
    if "HOROVOD_ELASTIC" in os.environ:
        return
    store = f"http://{address}:{port}/{_SCOPE}/"
    until = time.monotonic() + seconds
    missing = _reported(store, rank, [one for one in range(size) if one != rank], until)
    if missing:
        raise RanksError(
            f"rank {rank} has waited for {seconds:g} s for {listed(missing)}: start all {size} ranks within this time, "
            "each calling runtime.ranks.start()"
        )


def _reported(store: str, rank: int, others: list[int], until: float) -> list[int]:
    """Report to the store, and return who has not done so when time is up."""
    is_reported = False
    while True:
        is_reported = is_reported or _asked(f"{store}{rank}", b"here")
        others = [one for one in others if not _asked(f"{store}{one}")]
        if (is_reported and not others) or time.monotonic() > until:
            return others
        time.sleep(_RETRY_SECONDS)


def _asked(address: str, value: bytes | None = None) -> bool:
    """Put a value, or ask for one; whether it is there."""
    request = urllib.request.Request(address, data=value, method="GET" if value is None else "PUT")
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=_TRY_SECONDS) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
