"""Counters of admission and eviction in a table's meta data: brought together from several ranks, shared out to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from runtime.checkpoint.rows import optimizer_kind

__all__ = ["Seen", "mergeable", "meta_of_rank", "parse", "with_seen"]

_MARK = 0x6E656573  # what the native engine begins them with
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """As the engine writes them: newest time, keys with count and time in one number, and a Bloom filter's counters.

    A time t is kept as t + 1 below the count's 32 bits, 0 being never.
    """

    newest: int
    keys: _Ints
    sightings: _Ints
    filter_settings: _Ints  # elements, bits of the rate, counter bits, bytes
    counters: _Ints
    threshold: _Ints  # what `set_threshold` said and whether counting stopped; empty when it was never called


def meta_of_rank(metas: Sequence[_Ints], held: Callable[[_Ints], NDArray[np.bool_]]) -> _Ints:
    """Return the first of `metas` with the counters of all of them, but only of keys that are `held` by the rank.

    Of several Bloom filters every counter becomes the largest, so that no key is counted too low; of several
    thresholds that were set, the first counts.
    """
    known = [seen for seen in map(parse, metas) if seen is not None]
    if not known:
        return metas[0]
    keys = np.concatenate([seen.keys for seen in known])
    own = held(keys)
    if len(metas) == 1 and own.all():
        return metas[0]
    sightings = np.concatenate([seen.sightings for seen in known])
    alike = [seen.counters for seen in known if np.array_equal(seen.filter_settings, known[0].filter_settings)]
    merged = replace(
        known[0],
        newest=max(seen.newest for seen in known),
        keys=keys[own],
        sightings=sightings[own],
        counters=_largest(alike, int(known[0].filter_settings[2])),
        threshold=next((seen.threshold for seen in known if len(seen.threshold)), known[0].threshold),
    )
    return with_seen(metas[0], merged)


def mergeable(before: _Ints, now: _Ints) -> bool:
    """Whether an increment with the meta data `now` can be merged into rows with those of `before`.

    Counters may differ, since every increment holds all of them; but where none are left, merging would leave the old.
    """
    one, other = before[: _start(before)], now[: _start(now)]
    return np.array_equal(one, other) and (len(before) > len(one)) == (len(now) > len(other))


def _start(meta: _Ints) -> int:
    decays = int(meta[0]) == 3 or (int(meta[0]) == 2 and int(meta[4]) == optimizer_kind("keras_adamw"))
    return 5 + int(meta[3]) + decays  # what weight decay left of initial rows comes before the counters


def parse(meta: _Ints) -> Seen | None:
    """Return the counters in the meta data of a table; None where it counts nothing."""
    rest = meta[_start(meta) :]
    if len(rest) == 0 or rest[0] != _MARK:
        return None
    count = int(rest[2])
    keys, sightings, tail = np.split(rest[3:], [count, 2 * count])
    counters, threshold = np.split(tail[4:], [-(-int(tail[3]) // 8)])
    return Seen(int(rest[1]), keys, sightings, tail[:4], counters, threshold)


def with_seen(meta: _Ints, seen: Seen) -> _Ints:
    """Return meta data with these counters in the place of its own."""
    head = np.array([_MARK, seen.newest, len(seen.keys)], np.int64)
    tail = [head, seen.keys, seen.sightings, seen.filter_settings, seen.counters, seen.threshold]
    return np.concatenate([meta[: _start(meta)], *tail])


def _largest(counters: Sequence[_Ints], bits: int) -> _Ints:
    words = np.stack([np.ascontiguousarray(part).view(f"<u{bits // 8}") for part in counters])
    return np.ascontiguousarray(words.max(0)).view(np.int64)
