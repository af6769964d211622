"""What an exchange of ids has brought, for a later step to look up rows by; in few tensors, as each takes time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from runtime.ranks.engine import Route
from runtime.ranks.messages import Places


class Posted(NamedTuple):
    """What ranks know of each other's ids once these are exchanged.

    Attributes:
        places: where the rows that this rank gets belong.
        message: the ids that other ranks look up here, and how many of its values each has sent, int32 [ranks].
        lengths: see `message`.
        rows: the route of rows: what is sent back as ids are; None if it is not known before rows are looked up.
    """

    places: Places
    message: tf.Tensor
    lengths: tf.Tensor
    rows: Route | None


class ExchangedIds(NamedTuple):
    """Ids of a batch that ranks have exchanged: tensors, to be given to one lookup of these ids.

    Attributes:
        longs, ints: parts of messages, int64 and int32.
        sizes: the lengths of these parts, int32 [parts].
        mark: a number for the tables and the ids, int64.
    """

    longs: tf.Tensor
    ints: tf.Tensor
    sizes: tf.Tensor
    mark: tf.Tensor

    def spec(self) -> ExchangedIds:
        """Return the same structure of tensor specs for any ids, for the `input_signature` of a `tf.function`."""
        return ExchangedIds(*(tf.TensorSpec([None] * one.shape.rank, one.dtype) for one in self))


def packed(posted: Sequence[Posted], mark: tf.Tensor) -> ExchangedIds:
    """Return what was posted in few tensors."""
    longs = [part for one in posted for part in (one.places.bags, one.message)]
    ints = [tf.reshape(part, [-1]) for one in posted for part in _ints(one)]
    sizes = tf.stack([tf.size(part) for part in longs + ints]) if posted else tf.zeros([0], tf.int32)
    return ExchangedIds(
        tf.concat(longs, 0) if longs else tf.zeros([0], tf.int64),
        tf.concat(ints, 0) if ints else tf.zeros([0], tf.int32),
        sizes,
        mark,
    )


def _ints(posted: Posted) -> list[tf.Tensor]:
    route = [] if posted.rows is None else [posted.rows.counts, posted.rows.received, posted.rows.longest]
    return [posted.places.counts, *posted.places.places, *posted.places.targets, posted.lengths, *route]


def unpacked(exchanged: ExchangedIds, ways: Sequence[tuple[int, bool]]) -> list[Posted]:
    """Return what was posted, given for each way the number of its tables, and whether the route of rows is known."""
    lengths = [_ints_of(tables, routed) for tables, routed in ways]
    longs = iter(_split(exchanged.longs, exchanged.sizes[: 2 * len(ways)], 2 * len(ways)))
    ints = iter(_split(exchanged.ints, exchanged.sizes[2 * len(ways) :], sum(lengths)))
    messages = []
    for (tables, routed), length in zip(ways, lengths, strict=True):
        bags, message = next(longs), next(longs)
        own = [next(ints) for _ in range(length)]
        counts = tf.reshape(own[0], [-1, tables])
        places = Places(counts, bags, tuple(own[1 : 1 + tables]), tuple(own[1 + tables : 1 + 2 * tables]))
        rest = own[1 + 2 * tables :]
        route = Route(rest[1], rest[2], rest[3][0]) if routed else None
        messages.append(Posted(places, message, rest[0], route))
    return messages


def _ints_of(tables: int, routed: bool) -> int:
    return 2 + 2 * tables + (3 if routed else 0)


def _split(values: tf.Tensor, sizes: tf.Tensor, parts: int) -> list[tf.Tensor]:
    return list(tf.split(values, sizes, num=parts)) if parts else []
