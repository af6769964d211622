"""The interface of engines, which move data between ranks, and the engine for a single rank."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tensorflow as tf

from runtime import _tf_private


class RanksError(RuntimeError):
    """Ranks cannot work together: another one is gone, or the engine does not support this mode."""


#: How many ranks an error names.
_NAMED = 8


def listed(texts: Sequence[object]) -> str:
    """Return the first of these ranks, each with its number or text, for an error: "rank 1, rank 3 and 5 more"."""
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return ", ".join(f"rank {one}" for one in texts[:_NAMED]) + more


@dataclass(frozen=True)
class Route:
    """Rows sent from this rank to each and received from each, int32 [size]; and the maximum between any two ranks."""

    counts: tf.Tensor
    received: tf.Tensor
    longest: tf.Tensor

    def back(self) -> Route:
        """Return the route of the answers."""
        return Route(self.received, self.counts, self.longest)


def with_gradient(
    values: tf.Tensor, exchange: Callable[[tf.Tensor], tf.Tensor], back: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    """Return `exchange(values)`, any number of rows of the same form, whose gradient goes `back`."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def exchanged(values: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        return exchange(values), lambda gradient: back(tf.convert_to_tensor(gradient))

    rows: tf.Tensor = exchanged(values)
    if values.shape.rank:
        rows.set_shape([None, *values.shape[1:]])
    return rows


#: Lanes of exchanges beside those of rows: gradients of dense variables, and ids of the next batch.
DENSE, IDS = "dense", "ids"


class Engine(ABC):
    """Moves tensors between the processes of one job; all ranks must make the same calls in the same order.

    All methods work on int32, int64 and float32, and all but `barrier` are differentiable for floats: the gradient of
    an exchange is the reverse exchange, that of a sum the sum of gradients.
    """

    name: str
    rank: int
    size: int
    #: A random number that all ranks share; None for a single process.
    seed: int | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("route", "routes", "routed", "all_to_all", "all_gather", "all_reduce", "barrier"):
            if name in vars(cls):
                setattr(cls, name, _tf_private.as_written(vars(cls)[name]))

    @abstractmethod
    def route(self, counts: tf.Tensor) -> Route:
        """Announce to each rank i the number `counts[i]` of rows to send, int32 [size]; return the route."""

    def routes(self, counts: tf.Tensor) -> list[Route]:
        """Return a route for each column of `counts`, int32 [size, k]; in one message if the engine supports it."""
        return [self.route(column) for column in tf.unstack(counts, axis=1)]

    def routed(self, counts: tf.Tensor, values: tf.Tensor) -> tuple[list[Route], tf.Tensor]:
        """Return `routes(counts)` and `all_to_all(values)` by the first of them; in one message if supported.

        No gradient is defined.
        """
        routes = self.routes(counts)
        return routes, self.all_to_all(values, routes[0])

    @abstractmethod
    def all_to_all(self, values: tf.Tensor, route: Route) -> tf.Tensor:
        """Send the first `route.counts[0]` rows of `values` to rank 0, the next ones to rank 1, and so on.

        Returns the rows that were sent to this rank, ordered by rank.
        """

    @abstractmethod
    def all_gather(self, values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the rows of all ranks, ordered by rank, and the number of rows of each, int32 [size]."""

    @abstractmethod
    def all_reduce(self, values: tf.Tensor) -> tf.Tensor:
        """Return the sum over ranks of tensors with equal shapes; it is bit-equal on all ranks."""

    @abstractmethod
    def barrier(self) -> None:
        """Wait, outside of graphs, until every rank has called this."""

    def beside(self, lane: str) -> contextlib.AbstractContextManager[None]:
        """Let exchanges that are made in this context run beside those of other lanes.

        All ranks must make the exchanges of one lane in the same order; those of two lanes may overtake each other.
        """
        return contextlib.nullcontext()

    def missing(self, seconds: float = 5.0) -> list[int]:
        """Return the ranks known to be gone or suspended; it may wait up to `seconds` for each answer."""
        return []

    def end(self) -> None:
        """Stop the watchdog of exchanges; no exchange may follow."""
        return None


class Alone(Engine):
    """The engine of a single process: it returns what it is given."""

    name = "alone"
    rank = 0
    size = 1
    seed = None

    def route(self, counts: tf.Tensor) -> Route:
        """Return a route with `counts` in both directions."""
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
