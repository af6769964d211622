"""The engine for ranks of one machine, over memory that they share: eager mode and `tf.function`.

A native op sends a part of any length to each rank and receives one from each (store/exchange/connections.h), so
nothing is padded, lengths travel with what they measure, and no server is started.
"""

from __future__ import annotations

import atexit
import os
import secrets
from collections.abc import Callable

import tensorflow as tf

from runtime import native
from runtime.ranks import local_links
from runtime.ranks.engine import Route, with_gradient
from runtime.ranks.lanes import LANES, LaneEngine, cluster, require_functions


class Local(LaneEngine):
    """Memory that the processes of TF_CONFIG share, which run on one machine."""

    name = "local"

    def __init__(self, timeout_seconds: float) -> None:
        """Connect to the other ranks.

        Raises:
            RanksError: TF_CONFIG does not describe the ranks, or one has not started within the timeout or cannot be
                reached.
        """
        workers, self.rank = cluster()
        self.size = len(workers)
        require_functions()
        local_links.connect(workers, self.rank, timeout_seconds)
        self._process = os.getpid()
        atexit.register(self.end)  # its thread must not run TensorFlow while Python shuts down
        with tf.device("/device:CPU:0"):
            self._orders = [
                tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[], shared_name=f"recmigrate_local_{lane}")
                for lane in LANES
            ]
        mine = secrets.randbits(62) if self.rank == 0 else 0
        self.seed = int(self.all_reduce(tf.constant(mine, tf.int64)))

    def end(self) -> None:
        """See `Engine`."""
        if os.getpid() != self._process:
            return  # what this rank has forked holds copies of its files, and must not end its thread
        atexit.unregister(self.end)
        local_links.disconnect()

    def routes(self, counts: tf.Tensor) -> list[Route]:
        """See `Engine`."""
        return self.routed(counts, tf.zeros([0], tf.int32), sent=tf.zeros([self.size], tf.int32))[0]

    def routed(
        self, counts: tf.Tensor, values: tf.Tensor, sent: tf.Tensor | None = None
    ) -> tuple[list[Route], tf.Tensor]:
        """See `Engine`; `sent`, if given, says in place of the first column how many rows go to each rank."""
        counts = tf.ensure_shape(tf.cast(counts, tf.int32), [self.size, counts.shape[1]])
        received, numbers = self._exchanged(values, counts[:, 0] if sent is None else sent, counts)
        none = tf.constant(0)  # parts need not be equally long
        routes = [Route(counts[:, i], numbers[:, 1 + i], none) for i in range(counts.shape[1])]
        return routes, received

    def all_to_all(self, values: tf.Tensor, route: Route) -> tf.Tensor:
        """See `Engine`."""
        return with_gradient(
            values,
            lambda values: self._exchanged(values, route.counts)[0],
            lambda gradient: self._exchanged(gradient, route.received)[0],
        )

    def all_gather(self, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """See `Engine`."""

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def gather(values: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tf.Tensor]]:
            rows, numbers = self._exchanged(values)
            counts = numbers[:, 0]

            def back(gradient: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
                before = tf.reduce_sum(counts[: self.rank])
                return self._reduced(tf.convert_to_tensor(gradient))[before : before + counts[self.rank]]

            return (rows, counts), back

        rows, counts = gather(values)
        return rows, counts

    def missing(self, seconds: float = 5.0) -> list[int]:
        """See `Engine`."""
        return local_links.missing(self.size, seconds)

    def _reduced(self, values: tf.Tensor) -> tf.Tensor:
        """Return the sum; ranks are added in their order."""
        # As one row, whose width all ranks must agree on: the sum of values of other numbers would be none.
        if self.size == 2:
            return tf.reshape(self._sum(self._exchanged(tf.reshape(values, [1, -1]))[0]), tf.shape(values))
        flat = tf.reshape(values, [-1])
        # Each rank adds up a part of the values, as all together would read each other's whole values.
        count = tf.size(flat)
        length = (count + self.size - 1) // self.size
        padded = tf.reshape(tf.pad(flat, [[0, length * self.size - count]]), [self.size, length])
        parts = self._exchanged(padded, tf.ones([self.size], tf.int32))[0]
        every = tf.reshape(self._exchanged(self._sum(parts)[tf.newaxis])[0], [-1])
        return tf.reshape(every[:count], tf.shape(values))

    def _sum(self, parts: tf.Tensor) -> tf.Tensor:
        first, *others = tf.unstack(tf.reshape(parts, [self.size, -1]))
        for part in others:
            first += part
        return first

    def _exchanged(
        self, values: tf.Tensor, counts: tf.Tensor | None = None, columns: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Send `counts` [size] rows to each rank, or all rows to all ranks.

        Returns:
            The rows of all ranks in their order; and for each rank, int32 [size, 1 + columns], how many these are and
            what it has given as `columns` [size, columns] for this rank.
        """
        require_functions()
        op = native.ops().rec_gather if counts is None else native.ops().rec_exchange
        with tf.device("/device:CPU:0"):
            rows, numbers = op(
                order=self._orders[self._lane],
                values=values,
                counts=tf.zeros([0], tf.int32) if counts is None else counts,
                columns=tf.zeros([self.size, 0], tf.int32) if columns is None else columns,
                lane=self._lane,
            )
        rows.set_shape([None, *values.shape[1:]])
        numbers.set_shape([self.size, 1 if columns is None else 1 + columns.shape[1]])
        return rows, numbers
