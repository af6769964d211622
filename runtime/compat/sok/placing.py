"""Placement of SOK's variables: which rank holds which rows."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import ranks
from runtime.ranks import placements


def placement_of(mode: Any) -> str:
    """Return the runtime's placement for SOK's `mode`: None, "distributed" or "localized:" and a rank.

    Raises:
        RuntimeError: the mode is unknown, or the rank does not exist.
    """
    if mode is None or mode == placements.DISTRIBUTED:
        return placements.DISTRIBUTED
    if not isinstance(mode, str) or not mode.startswith("localized:"):
        raise RuntimeError(f"the mode {mode!r} is unknown: give None, 'distributed', or 'localized:' and a rank")
    try:
        return placements.check_placement(mode)
    except ValueError as error:
        raise RuntimeError(f"the mode of a variable of SOK is its placement: {error}") from error


def target_rank(placement: str) -> int:
    """Return the rank that has all rows, or -1 if they are distributed."""
    return max(placements.owner_rule(placement), -1)


def local_count(rows: int, placement: str) -> int:
    """Return how many of `rows` rows, with ids from 0 on, this rank holds."""
    target, size, rank = target_rank(placement), ranks.size(), ranks.rank()
    if target >= 0:
        return rows if target == rank else 0
    return len(range(rank, rows, size))


def local_part(values: tf.Tensor, placement: str) -> tf.Tensor:
    """Return the rows of `values` [rows, ...] that this rank holds."""
    target = target_rank(placement)
    if target >= 0:
        return values if target == ranks.rank() else values[:0]
    return values[ranks.rank() :: ranks.size()]


def global_ids(count: int | tf.Tensor, placement: str) -> tf.Tensor:
    """Return the ids, int64 [count], of this rank's first `count` rows."""
    rows = tf.range(tf.cast(count, tf.int64))
    return rows if target_rank(placement) >= 0 else rows * ranks.size() + ranks.rank()


def local_rows(ids: tf.Tensor, placement: str) -> tf.Tensor:
    """Return the local row numbers of ids that this rank holds."""
    return ids if target_rank(placement) >= 0 else ids // ranks.size()


def lie_here(ids: tf.Tensor, placement: str) -> tf.Tensor:
    """Return for each of the ids int64 [n] whether this rank holds its row."""
    target = target_rank(placement)
    if target >= 0:
        return tf.fill(tf.shape(ids), target == ranks.rank())
    return tf.equal(tf.math.floormod(ids, tf.cast(ranks.size(), ids.dtype)), ranks.rank())
