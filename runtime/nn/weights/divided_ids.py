"""Ids that are divided by a number of buckets: the tensor of the remainders knows what was divided.

An embedding whose ids give up their buckets looks that up in place of the remainders; everybody else has these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

__all__ = ["Divided", "divided", "note"]

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
