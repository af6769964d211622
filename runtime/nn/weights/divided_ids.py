"""Ids that are divided by a number of buckets: the tensor of the remainders knows what was divided.

An embedding whose ids give up their buckets looks that up in place of the remainders; everybody else has these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from runtime.policy.wide_buckets import wide_buckets
from runtime.storage.buckets import Buckets

__all__ = ["Divided", "divided", "note", "wide"]

_KEY = "_divided"


class Divided(NamedTuple):
    """What remainders are of: int64 numbers, and the divisor."""

    ids: tf.Tensor
    buckets: int


def note(remainders: tf.Tensor, of: Divided) -> None:
    """Let a tensor of remainders know what was divided."""
    setattr(remainders, _KEY, of)


def divided(remainders: Any) -> Divided | None:
    """Return what a tensor is the remainders of, if it knows that."""
    return getattr(remainders, _KEY, None)


def wide(ids: Any, buckets: Buckets | None) -> Any:
    """Return ids that tell their bucket in place of these buckets, if `ids` know what was divided; else `ids`."""
    known = divided(ids)
    return ids if known is None or buckets != Buckets(known.buckets) else known.ids % wide_buckets(known.buckets)
