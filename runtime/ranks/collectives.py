"""The engine on TensorFlow's own collectives: eager mode and `tf.function`, TensorFlow 2.15 to 2.21.

TensorFlow binds the instance key of a collective to one shape for good, and its all-to-all needs equal parts. So parts
are padded to one of 231 lengths, each at most an eighth longer than the previous one, and the key, a tensor, encodes
kind, width and length. All ranks know all counts, so they choose the same length. One variable orders the collectives
of a `tf.function` in each lane; as the ranks run the same program, their order is the same on all. It also counts
starts and ends, for the watchdog thread that ends a collective which waits for too long.
"""

from __future__ import annotations

import atexit
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _tf_private, native
from runtime._tf_private_cluster import bound_waits
from runtime.ranks.engine import RanksError, Route, listed, with_gradient
from runtime.ranks.lanes import LANES, LaneEngine, cluster, require_functions
from runtime.ranks.rendezvous import job_token, meet

#: Of lane 0; each lane is a group of its own.
_GROUP = 2_000_003  # tf.distribute numbers its own groups from 1, and does not reach this
_LENGTHS = np.array([*range(1, 16), *((8 + part) << power for power in range(1, 28) for part in range(8))])
_KINDS = {"all_to_all": 0, "all_gather": 1, "all_reduce": 2}
_DTYPES = {tf.int32: 0, tf.int64: 1, tf.float32: 2, tf.float64: 3}
_WIDTH_BITS = 17
#: Waiting ranks name a silent rank before TensorFlow stops them because of it.
_GRACE_SECONDS = 5.0
#: How long a rank has to answer whether it is there, and how many are asked at once.
_ASK_SECONDS, _ASKED_AT_ONCE = 2.0, 32


class Collectives(LaneEngine):
    """TensorFlow's collectives between the processes of TF_CONFIG."""

    name = "collectives"

    def __init__(self, timeout_seconds: float) -> None:
        """Connect to the other ranks.

        Raises:
            RanksError: TF_CONFIG does not describe the ranks, one has not started within the timeout, or TensorFlow
                has run ops before.
        """
        workers, self.rank = cluster()
        self.size = len(workers)
        require_functions()
        # A rank sends a sign of life twice in this time, so the last one may be half of it old when it falls silent.
        bound_waits(self.size, timeout_seconds, 2 * timeout_seconds + _GRACE_SECONDS)
        meet(workers, self.rank, timeout_seconds, job_token())
        try:
            self._strategy = tf.distribute.MultiWorkerMirroredStrategy()  # starts the server that collectives need
        except RuntimeError as error:
            raise RanksError(
                "TensorFlow has run ops before its ranks were connected: call runtime.ranks.start() first"
            ) from error
        self._make_tokens()
        self._timeout_seconds = timeout_seconds
        self._gone: set[int] = set()  # ranks that did not answer: what has failed cannot be exchanged again
        self._watch = Watch(self._progress, timeout_seconds, self._late)
        mine = secrets.randbits(62) if self.rank == 0 else 0
        try:
            self.seed = int(self.all_reduce(tf.constant(mine, tf.int64)))
        except BaseException:
            self._watch.end()
            raise

    def _make_tokens(self) -> None:
        """Make the variables that order and count the exchanges of each lane."""
        self._tokens = []
        with tf.device("/device:CPU:0"):
            for lane in LANES:
                token = tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[], shared_name=f"recmigrate_ranks_{lane}")
                tf.raw_ops.AssignVariableOp(resource=token, value=tf.constant(0, tf.int64))
                self._tokens.append(token)

    def end(self) -> None:
        """See `Engine`."""
        self._watch.end()

    def routes(self, counts: tf.Tensor) -> list[Route]:
        """See `Engine`."""
        require_functions()
        counts = tf.cast(counts, tf.int32)
        every = self._equal_gather(tf.ensure_shape(counts, [self.size, counts.shape[1]])[None])
        longest = tf.reduce_max(every, [0, 1])
        return [Route(counts[:, i], every[:, self.rank, i], longest[i]) for i in range(counts.shape[1])]

    def all_to_all(self, values: tf.Tensor, route: Route) -> tf.Tensor:
        """See `Engine`."""
        require_functions()
        return with_gradient(
            values,
            lambda values: self._exchanged(values, route),
            lambda gradient: self._exchanged(gradient, route.back()),
        )

    def _exchanged(self, values: tf.Tensor, route: Route) -> tf.Tensor:
        flat, width = _flat(values)
        place, length = _length(route.longest)
        sent = native.ops().rec_pad_parts(flat, route.counts, length)
        got = self._run(tf.raw_ops.CollectiveAllToAllV2, "all_to_all", sent, place, width)
        rows = native.ops().rec_cut_parts(got, route.received)
        return tf.reshape(rows, tf.concat([[-1], tf.shape(values)[1:]], 0))

    def all_gather(self, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """See `Engine`."""
        require_functions()
        counts = self._equal_gather(tf.shape(values)[:1])
        before = tf.reduce_sum(counts[: self.rank])
        rows = with_gradient(
            values,
            lambda values: self._gathered(values, counts),
            lambda gradient: self.all_reduce(gradient)[before : before + counts[self.rank]],
        )
        return rows, counts

    def _gathered(self, values: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
        flat, width = _flat(values)
        place, length = _length(tf.reduce_max(counts))
        padded = native.ops().rec_pad_parts(flat, tf.shape(flat)[:1], length)[0]
        got = self._run(tf.raw_ops.CollectiveGatherV2, "all_gather", padded, place, width)
        rows = native.ops().rec_cut_parts(tf.reshape(got, [self.size, length, width]), counts)
        return tf.reshape(rows, tf.concat([[-1], tf.shape(values)[1:]], 0))

    def missing(self, seconds: float = 5.0) -> list[int]:
        """See `Engine`."""
        others = [one for one in range(self.size) if one != self.rank and one not in self._gone]
        if not others:
            return sorted(self._gone)
        with ThreadPoolExecutor(min(_ASKED_AT_ONCE, len(others)), "recmigrate-ranks-ask") as threads:
            answers = threads.map(lambda rank: _tf_private.worker_answers(rank, seconds), others)
            silent = [one for one, answered in zip(others, answers, strict=True) if not answered]
        self._gone.update(silent)
        return sorted(self._gone)

    def _late(self) -> None:
        """End all exchanges, with a sentence that names the ranks that do not answer."""
        gone = self.missing(min(_ASK_SECONDS, self._timeout_seconds))
        whom = f"{listed(gone)}, which {'does' if len(gone) == 1 else 'do'} not answer"
        late = "other ranks; all of them run, so one answered too late"
        waited = f"rank {self.rank} waited for longer than {self._timeout_seconds:g} s"
        _tf_private.abort_collectives(f"{waited} in an exchange for {whom if gone else late}")

    def _reduced(self, values: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(values, [-1])
        count = tf.size(flat)
        place, length = _length(count)
        padded = tf.pad(flat, [[0, length - count]])
        add = {"merge_op": "Add", "final_op": "Id"}
        got = self._run(tf.raw_ops.CollectiveReduceV2, "all_reduce", padded, place, 1, **add)
        return tf.reshape(got[:count], tf.shape(values))

    def _equal_gather(self, values: tf.Tensor) -> tf.Tensor:
        """Return the rows of all ranks if each has equally many, a number known when the graph is built."""
        flat, width = _flat(values)
        place = tf.constant(int(np.searchsorted(_LENGTHS, flat.shape[0])), tf.int32)
        got = self._run(tf.raw_ops.CollectiveGatherV2, "all_gather", flat, place, width)
        return tf.reshape(got, [self.size * values.shape[0], *values.shape[1:]])

    def _run(
        self, op: Callable[..., tf.Tensor], kind: str, values: tf.Tensor, place: tf.Tensor, width: int, **more: Any
    ) -> tf.Tensor:
        number = (_KINDS[kind] << 3 | _DTYPES[values.dtype]) << _WIDTH_BITS | width
        with tf.device("/device:CPU:0"):
            instance = tf.constant(number << 8, tf.int32) + place
            with tf.control_dependencies([values, instance]):  # the time until they are computed is not waiting
                self._count(begins=True)
            got = op(
                input=values,
                group_size=self.size,
                group_key=_GROUP + self._lane,
                instance_key=instance,
                ordering_token=[self._tokens[self._lane]],
                **more,
            )
            self._count(begins=False)
            return got

    def _count(self, begins: bool) -> None:
        """Increment the counter to the next odd number when a collective begins, to the next even one when it ends.

        All uses of a token run in program order. A function that fails may leave out its last end.
        """
        token = self._tokens[self._lane]
        number = tf.raw_ops.ReadVariableOp(resource=token, dtype=tf.int64)
        other = number + 1 + number % 2 if begins else number + number % 2
        tf.raw_ops.AssignVariableOp(resource=token, value=other)

    def _progress(self) -> list[int]:
        with tf.device("/device:CPU:0"):
            return [int(tf.raw_ops.ReadVariableOp(resource=token, dtype=tf.int64)) for token in self._tokens]


def _flat(values: tf.Tensor) -> tuple[tf.Tensor, int]:
    """Return `values` as a matrix, and its width.

    Raises:
        RanksError: the width is unknown when the graph is built, or too large for an instance key.
    """
    width = values.shape[1:].num_elements()
    if width is None or not 0 < width < 1 << _WIDTH_BITS:
        raise RanksError(
            f"rows of shape {values.shape[1:]} cannot be exchanged: their size must be known, and from 1 to "
            f"{(1 << _WIDTH_BITS) - 1}"
        )
    return tf.reshape(values, [-1, width]), width


def _length(rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the index of the smallest padded length for so many rows, and the length."""
    lengths = tf.constant(_LENGTHS, tf.int32)
    place = tf.searchsorted(lengths, tf.reshape(tf.maximum(rows, 1), [1]))[0]
    return place, lengths[place]


class Watch:
    """Checks from its own thread that the exchanges of a process make progress, and ends what waits for too long.

    TensorFlow's own timeout blocks a thread for its whole duration for each collective, so a program with many
    exchanges would run out of threads; here a single thread watches all of them.
    """

    def __init__(
        self,
        progress: Callable[[], Sequence[int]],
        seconds: float,
        late: Callable[[], None],
        busy: Callable[[], bool] | None = None,
    ) -> None:
        """Start watching.

        Args:
            progress: returns for each lane a number that changes as exchanges begin and end; odd while one runs, or if
                one did not end because its function failed.
            seconds: how long a number may be odd and unchanged.
            late: called once when that time is exceeded.
            busy: returns whether an exchange can be running at all; default: `in_tensorflow`.
        """
        self._progress, self._seconds, self._late = progress, seconds, late
        self._busy = busy or in_tensorflow
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recmigrate-ranks-watch", daemon=True)
        self._thread.start()
        # A thread that runs TensorFlow while Python shuts down would crash the process.
        atexit.register(self.end)

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        last: list[int] = []
        since: list[float] = []
        while not self._ended.wait(min(1.0, self._seconds / 8)):
            numbers, busy, now = list(self._progress()), self._busy(), time.monotonic()
            moved = [not busy or number % 2 == 0 for number in numbers]
            if last:
                moved = [one or number != was for one, number, was in zip(moved, numbers, last, strict=True)]
            since = [now if one else begun for one, begun in zip(moved, since or [now] * len(moved), strict=True)]
            last = numbers
            if max(now - begun for begun in since) > self._seconds:
                self._late()
                return


def in_tensorflow() -> bool:
    """Whether another thread of this process is in a call of TensorFlow, as a thread in an exchange is."""
    inside = os.path.join("tensorflow", "python", "")  # noqa: PTH118  # part of a path, with a separator at its end
    return any(
        inside in frame.f_code.co_filename
        for thread, frame in sys._current_frames().items()
        if thread != threading.get_ident()
    )
