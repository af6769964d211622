"""Placement: which rank holds which rows of a table."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.native.base_keys import are_base_keys
from runtime.ranks.process_group import current

DISTRIBUTED, BUCKETS, REPLICATED = "distributed", "buckets", "replicated"
_LOCALIZED = re.compile(r"localized:(\d+)")
#: Same values as in store/partition.h.
_BY_REMAINDER, _BY_BUCKET, _BUCKETS = -1, -2, 1000


def check_placement(placement: Any) -> str:
    """Check and return a placement: "distributed", "buckets", "replicated" or "localized:" and a rank.

    Raises:
        ValueError: it is none of these, or names a rank that does not exist.
    """
    if isinstance(placement, str) and placement.startswith("columns:"):
        raise ValueError(
            f"`placement` {placement!r} is that of a table that is cut by columns: make it with "
            "runtime.create_column_table, whose `parts` is the number"
        )
    match = _LOCALIZED.fullmatch(placement) if isinstance(placement, str) else None
    if match is None and placement not in (DISTRIBUTED, BUCKETS, REPLICATED):
        raise ValueError(
            f"`placement` {placement!r} must be 'distributed' (key mod ranks), 'buckets' ((key mod 1000) mod ranks), "
            "'replicated' (all rows everywhere) or 'localized:' and the rank that has all rows, as in 'localized:0'"
        )
    if match is not None and int(match[1]) >= current().size:
        raise ValueError(f"`placement` {placement!r} names rank {match[1]}, but ranks are 0 to {current().size - 1}")
    return str(placement)


def owner_rule(placement: str) -> int:
    """Return the argument of RecPartitionKeys: the rank that has all rows, or the rule from key to rank."""
    match = _LOCALIZED.fullmatch(placement)
    if match is not None:
        return int(match[1])
    return _BY_BUCKET if placement == BUCKETS else _BY_REMAINDER


def held_here(keys: NDArray[np.int64], placement: str, base: bool = False) -> NDArray[np.bool_]:
    """Return for each key whether this rank holds its row; of a table with a `base`, each rank holds its buckets'."""
    engine = current()
    if placement == REPLICATED:
        return np.full(keys.shape, True)
    rule = owner_rule(placement)
    held: NDArray[np.bool_] = (keys % _BUCKETS if rule == _BY_BUCKET else keys) % engine.size == engine.rank
    if rule >= 0:
        held = np.full(keys.shape, rule == engine.rank)
    return held | are_base_keys(keys) if base else held


def held_rows(keys: tf.Tensor, values: tf.Tensor, placement: str, base: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """Return those of the keys [n] and values [n, dim] that this rank holds; `base` as in `held_here`."""
    mine = held(keys, placement)
    if base and mine is not None:
        mine |= are_base_keys(keys)
    return (keys, values) if mine is None else (tf.boolean_mask(keys, mine), tf.boolean_mask(values, mine))


def held(keys: tf.Tensor, placement: str) -> tf.Tensor | None:
    """Return for each key whether this rank holds its row; None if it holds all rows."""
    engine = current()
    if engine.size == 1 or placement == REPLICATED:
        return None
    return tf.equal(_owners(engine.size, keys, placement), engine.rank)


def _owners(ranks: int, keys: tf.Tensor, placement: str) -> tf.Tensor:
    """Return the rank of each key, int32."""
    rule = owner_rule(placement)
    if rule >= 0:
        return tf.fill(tf.shape(keys), rule)
    if rule == _BY_BUCKET:
        keys = tf.math.floormod(keys, tf.cast(_BUCKETS, keys.dtype))
    return tf.cast(tf.math.floormod(keys, tf.cast(ranks, keys.dtype)), tf.int32)
