"""Admission and eviction counters in a table's metadata: merged from several ranks, or selected for one rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from runtime.checkpoint.meta_layout import layout_of

_MARK = 0x6E656573  # marks the beginning of the counters
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """Counters in the engine's format: newest time, a number with count and time for each key, Bloom filter counters.

    The count is in the high 32 bits; a time t is stored as t + 1 in the low 32 bits, where 0 means never.
    """

    newest: int
    keys: _Ints
    sightings: _Ints
    filter_settings: _Ints  # elements, bits of the rate, counter bits, bytes
    counters: _Ints
    threshold: _Ints  # from `set_threshold`, and whether counting stopped; empty if it was never called


def meta_of_rank(metas: Sequence[_Ints], held: Callable[[_Ints], NDArray[np.bool_]]) -> _Ints:
    """Return the first of `metas` with the merged counters of all of them, restricted to keys `held` by the rank.

    For several Bloom filters, each counter is the maximum, so that no key is undercounted. Of several thresholds set by
    `set_threshold`, the first counts.
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
    """Whether an increment with metadata `now` can be merged into rows with metadata `before`.

    Counters may differ, as every increment has all of them; but if it has none, merging would keep the old ones.
    """
    earlier, later = _head(before), _head(now)
    counted = (len(before) > layout_of(before).counters_at) == (len(now) > layout_of(now).counters_at)
    return np.array_equal(earlier, later) and counted


def _head(meta: _Ints) -> _Ints:
    """Return what stands before the counters, without the number of updates, which increases."""
    layout = layout_of(meta)
    head = meta[: layout.counters_at]
    return head if layout.updates_at is None else np.delete(head, layout.updates_at)


def parse(meta: _Ints) -> Seen | None:
    """Return the counters in a table's metadata; None if the table counts nothing."""
    rest = meta[layout_of(meta).counters_at :]
    if len(rest) == 0 or rest[0] != _MARK:
        return None
    count = int(rest[2])
    keys, sightings, tail = np.split(rest[3:], [count, 2 * count])
    counters, threshold = np.split(tail[4:], [-(-int(tail[3]) // 8)])
    return Seen(int(rest[1]), keys, sightings, tail[:4], counters, threshold)


def with_seen(meta: _Ints, seen: Seen) -> _Ints:
    """Return the metadata with its counters replaced by these."""
    head = np.array([_MARK, seen.newest, len(seen.keys)], np.int64)
    tail = [head, seen.keys, seen.sightings, seen.filter_settings, seen.counters, seen.threshold]
    return np.concatenate([meta[: layout_of(meta).counters_at], *tail])


def _largest(counters: Sequence[_Ints], bits: int) -> _Ints:
    words = np.stack([np.ascontiguousarray(part).view(f"<u{bits // 8}") for part in counters])
    return np.ascontiguousarray(words.max(0)).view(np.int64)
