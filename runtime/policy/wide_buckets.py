"""The number of buckets in place of N, so wide that ids are apart, from which each id still tells its old bucket."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.native.base_keys import MOST_BUCKETS
from runtime.storage.buckets import Buckets, WideBuckets, buckets_of


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


def naming_buckets(function: Callable[..., Any], buckets: Any) -> Callable[..., Any]:
    """Return a function that gives wide ids, and lets the buckets keep their name: another op of a graph has these.

    `naming_buckets(tf.identity, N)(ids, name="bucket")` returns the ids; the tensor `bucket:0` is their buckets.

    Args:
        function: a function of TensorFlow that takes a `name`, and returns a tensor of ids.
        buckets: how the ids divide: a number, or `Buckets`.

    Raises:
        ValueError: `buckets` is neither.
    """
    divided = buckets_of(buckets)
    if divided is None:
        raise ValueError("`buckets` is None: give the number of buckets that ids divide into, or Buckets")

    @functools.wraps(function)
    def named(*arguments: Any, **options: Any) -> Any:
        bound = inspect.signature(function).bind(*arguments, **options)
        name = bound.arguments.get("name")
        if not name or tf.executing_eagerly():
            return function(*arguments, **options)
        bound.arguments["name"] = f"{name.removesuffix('/')}_wide"
        ids = function(*bound.args, **bound.kwargs)
        if isinstance(ids, tf.Tensor):
            tf.identity(divided.row_of(ids), name)
        return ids

    return named
