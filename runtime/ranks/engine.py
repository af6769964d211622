"""What the runtime asks of whatever moves data between ranks, and the answer where there is one rank alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import tensorflow as tf

from runtime import _tf_private


class RanksError(RuntimeError):
    """Ranks cannot work together: another one is gone, or the engine does not serve this mode."""


@dataclass(frozen=True)
class Route:
    """How many rows go from this rank to each, and come from each, int32 [size]; the most that any two exchange."""

    counts: tf.Tensor
    received: tf.Tensor
    longest: tf.Tensor

    def back(self) -> Route:
        """Return the way of the answers."""
        return Route(self.received, self.counts, self.longest)


class Engine(ABC):
    """Moves tensors between the processes of one job; every rank makes the same calls in the same order.

    All methods work on numbers (int32, int64, float32), and all but `barrier` are differentiable where these are
    floats: the gradient of an exchange is the exchange back, that of a sum the sum of gradients.
    """

    name: str
    rank: int
    size: int
    #: A random number that all ranks share, None for one process alone.
    seed: int | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("route", "routes", "all_to_all", "all_gather", "all_reduce", "barrier"):
            if name in vars(cls):
                setattr(cls, name, _tf_private.as_written(vars(cls)[name]))

    @abstractmethod
    def route(self, counts: tf.Tensor) -> Route:
        """Tell the ranks that `counts[i]` rows go from here to rank i, int32 [size], and learn what comes."""

    def routes(self, counts: tf.Tensor) -> list[Route]:
        """Return a route for each column of `counts`, int32 [size, k]; an engine that can tells them in one message."""
        return [self.route(column) for column in tf.unstack(counts, axis=1)]

    @abstractmethod
    def all_to_all(self, values: tf.Tensor, route: Route) -> tf.Tensor:
        """Send the first `route.counts[0]` rows of `values` to rank 0, the next ones to rank 1, and so on.

        Returns the rows that were sent to this rank, in the order of ranks.
        """

    @abstractmethod
    def all_gather(self, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the rows of all ranks, in the order of ranks, and int32 [size], how many each has."""

    @abstractmethod
    def all_reduce(self, values: tf.Tensor) -> tf.Tensor:
        """Return the sum over ranks of tensors of one shape; every rank gets the same bits."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait, outside of graphs, until every rank has come here."""

    def missing(self, seconds: float = 5.0) -> list[int]:
        """Return the ranks that are gone or suspended, as far as it can be told; may ask each for so many seconds."""
        return []

    def end(self) -> None:
        """Stop what watches the exchanges; there are none afterwards."""
        return None


class Alone(Engine):
    """One process: everything stays where it is."""

    name = "alone"
    rank = 0
    size = 1
    seed = None

    def route(self, counts: tf.Tensor) -> Route:
        """Return `counts`, there and back."""
        return Route(counts, counts, tf.reduce_max(counts))

    def all_to_all(self, values: tf.Tensor, route: Route) -> tf.Tensor:
        """Return `values`."""
        return values

    def all_gather(self, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return `values` and their number."""
        return values, tf.shape(values)[:1]

    def all_reduce(self, values: tf.Tensor) -> tf.Tensor:
        """Return `values`."""
        return values

    def barrier(self) -> None:
        """Do nothing."""
