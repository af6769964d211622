"""What the engines between the processes of TF_CONFIG share: who the ranks are, and exchanges in lanes."""

from __future__ import annotations

import contextlib
import json
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence

import tensorflow as tf

from runtime.ranks.engine import DENSE, IDS, Engine, RanksError, Route, with_gradient

#: Exchanges of each lane are ordered by a resource of their own. The native library knows lanes by their number.
LANES = ("rows", DENSE, IDS)


class LaneEngine(Engine):
    """An engine for eager mode and `tf.function`, whose exchanges are made in the lane `_lane`, an index of `LANES`."""

    _lane = 0

    @contextlib.contextmanager
    def beside(self, lane: str) -> Iterator[None]:
        """See `Engine`; gradients of these exchanges are taken in the lane of rows."""
        before, self._lane = self._lane, LANES.index(lane)
        try:
            yield
        finally:
            self._lane = before

    def route(self, counts: tf.Tensor) -> Route:
        """See `Engine`."""
        return self.routes(tf.reshape(counts, [self.size, 1]))[0]

    def all_reduce(self, values: tf.Tensor) -> tf.Tensor:
        """See `Engine`."""
        require_functions()
        total = with_gradient(values, self._reduced, self.all_reduce)
        total.set_shape(values.shape)
        return total

    def barrier(self) -> None:
        """See `Engine`."""
        self.all_reduce(tf.zeros([1], tf.int32))

    @abstractmethod
    def _reduced(self, values: tf.Tensor) -> tf.Tensor:
        """Return the sum over all ranks, without a gradient."""


def require_functions() -> None:
    """Refuse v1 graphs and sessions.

    Raises:
        RanksError: such a graph is being built.
    """
    if not tf.executing_eagerly() and not tf.compat.v1.get_default_graph().building_function:
        raise RanksError(
            "ranks connected by TF_CONFIG support eager mode and tf.function, not v1 graphs and sessions: start the "
            "ranks with Horovod (runtime.launch --engine horovod), or move the training step into a tf.function"
        )


def cluster() -> tuple[Sequence[str], int]:
    """Return the addresses of all ranks and the number of this one, from TF_CONFIG."""
    try:
        config = json.loads(os.environ["TF_CONFIG"])
        workers, task = list(config["cluster"]["worker"]), config["task"]
        if task["type"] != "worker" or not 0 <= int(task["index"]) < len(workers):
            raise KeyError
    except (KeyError, TypeError, ValueError) as error:
        raise RanksError(
            "TF_CONFIG does not say which rank this is: start the program with `python -m runtime.launch -n 2 "
            'program.py`, or set it as in {"cluster": {"worker": ["host:port", "host:port"]}, "task": {"type": '
            '"worker", "index": 0}}'
        ) from error
    return workers, int(task["index"])


def one_machine() -> bool:
    """Whether TF_CONFIG has several ranks, all of one host; False where it does not describe ranks."""
    try:
        hosts = {worker.rpartition(":")[0] for worker in cluster()[0]}
    except RanksError:
        return False
    return len(hosts) == 1 and len(cluster()[0]) > 1
