"""The number of buckets in place of N, so wide that ids are apart, from which each id still tells its old bucket."""

from __future__ import annotations

from typing import Any

from runtime import _validation
from runtime.native.base_keys import MOST_BUCKETS
from runtime.storage.buckets import Buckets, WideBuckets

__all__ = ["buckets_below", "wide_buckets"]


def wide_buckets(buckets: Any) -> int:
    """Return the largest multiple of N = `buckets` below 2**63, to hash or divide ids by in place of N.

    `hash(x, wide_buckets(N)) % N` is `hash(x, N)`, and `x % wide_buckets(N) % N` is `x % N`. A table over such ids is
    created with `base_buckets=N`; an embedding column over a category of so many buckets creates its table so.

    Raises:
        ValueError: `buckets` is no whole number from 1 to 2**32.
    """
    return Buckets(_validation.integer("buckets", buckets, 1, MOST_BUCKETS)).widest


def buckets_below(wide: Any) -> Buckets | None:
    """Return the buckets of which a number is `widest`, which knows them; None for any other number."""
    return wide.buckets if isinstance(wide, WideBuckets) else None
