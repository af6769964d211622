"""Tables that ranks share: ids go to the ranks that hold their rows, and the rows come back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.ranks.engine import Engine
from runtime.ranks.starting import current

_LOCALIZED = re.compile(r"localized:(\d+)")


def check_placement(placement: Any) -> str:
    """Return where the rows of a table lie: "distributed", "replicated" or "localized:" and a rank.

    Raises:
        ValueError: none of these, or a rank that is not there.
    """
    match = _LOCALIZED.fullmatch(placement) if isinstance(placement, str) else None
    if match is None and placement not in ("distributed", "replicated"):
        raise ValueError(
            f"`placement` {placement!r} must be 'distributed' (key mod ranks), 'replicated' (all rows everywhere) or "
            "'localized:' and the rank that has all rows, as in 'localized:0'"
        )
    if match is not None and int(match[1]) >= current().size:
        raise ValueError(f"`placement` {placement!r} names rank {match[1]}, and there are {current().size} from 0 on")
    return str(placement)


def held_here(keys: NDArray[np.int64], placement: str) -> NDArray[np.bool_]:
    """Return of each key whether this rank is to have its row."""
    engine = current()
    match = _LOCALIZED.fullmatch(placement)
    if match is not None:
        return np.full(keys.shape, int(match[1]) == engine.rank)
    return np.full(keys.shape, True) if placement == "replicated" else keys % engine.size == engine.rank


def held_rows(keys: tf.Tensor, values: tf.Tensor, placement: str) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the keys [n] and values [n, dim] that this rank is to hold."""
    engine = current()
    if engine.size == 1 or placement == "replicated":
        return keys, values
    mine = _owners(engine, keys, placement) == engine.rank
    return tf.boolean_mask(keys, mine), tf.boolean_mask(values, mine)


def rows_of(
    keys: tf.Tensor, placement: str, local: Callable[[tf.Tensor], tf.Tensor], distinct: bool = True
) -> tf.Tensor:
    """Return the rows of `keys`, [*keys.shape, dim]; `local` gives those of the keys that lie in this process.

    With `distinct` a key is sent once, however often it occurs here: for lookups that count no occurrences. Gradients
    come the same way, so the update of a row gets the sum over ranks and occurrences.
    """
    engine = current()
    if engine.size == 1:
        return local(keys)
    flat = tf.reshape(keys, [-1])
    sent, places = tf.unique(flat) if distinct else (flat, None)
    if placement == "replicated":
        rows = _replicated(engine, sent, local)
    else:
        rows = _exchanged(engine, sent, _owners(engine, sent, placement), local)
    rows = rows if places is None else tf.gather(rows, places)
    shape = keys.shape.concatenate(rows.shape[1:])
    rows = tf.reshape(rows, tf.concat([tf.shape(keys), tf.shape(rows)[1:]], 0))
    rows.set_shape(shape)
    return rows


def _owners(engine: Engine, keys: tf.Tensor, placement: str) -> tf.Tensor:
    """Return the rank of each key: key mod ranks, never negative."""
    match = _LOCALIZED.fullmatch(placement)
    if match is not None:
        return tf.fill(tf.shape(keys), int(match[1]))
    return tf.cast(tf.math.floormod(keys, tf.cast(engine.size, keys.dtype)), tf.int32)


def _exchanged(
    engine: Engine, keys: tf.Tensor, owners: tf.Tensor, local: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    order = tf.argsort(owners, stable=True)
    route = engine.route(tf.math.bincount(owners, minlength=engine.size, maxlength=engine.size))
    rows = local(engine.all_to_all(tf.gather(keys, order), route))
    return tf.gather(engine.all_to_all(rows, route.back()), tf.math.invert_permutation(order))


def _replicated(engine: Engine, keys: tf.Tensor, local: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """Look the ids of all ranks up everywhere, so that every copy gets the same rows and the same update."""
    every, counts = engine.all_gather(keys)
    before = tf.reduce_sum(counts[: engine.rank])

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def own(rows: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        # The rows that other ranks use get their gradients from them.
        return rows[before : before + counts[engine.rank]], lambda gradient: engine.all_gather(
            tf.convert_to_tensor(gradient)
        )[0]

    mine: tf.Tensor = own(local(every))
    return mine
