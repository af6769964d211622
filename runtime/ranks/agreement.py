"""Checks that all ranks look up the same tables and train them alike, by two numbers in the messages they exchange.

The optimizer of a table is known from its first update on, so the next lookup is the first to detect a difference.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from runtime import native
from runtime._assertions import checked
from runtime.native.update_rules import rule_names
from runtime.ranks.engine import Engine

#: Rates are compared by the logarithm of their sum, in steps of 1/256: rounding may cause a difference of one step.
_RATES = 1 << 16
_NEAR = 1


class Asked(Protocol):
    """A lookup request: see `runtime.ranks.fused_exchange.Request`."""

    @property
    def name(self) -> str:
        """Name of the table."""

    @property
    def placement(self) -> str:
        """Placement of its rows."""

    @property
    def dim(self) -> int | None:
        """Width of a row."""

    @property
    def handles(self) -> Sequence[tf.Tensor]:
        """Handles of the tables."""


class Agreement:
    """Checks that all ranks make the same requests, and trained their tables by the same optimizers.

    Attributes:
        mark: a hash of this rank's requests, from 0 to 2**31 - 1.
        trained: an int32 scalar for the rules and rates of the tables' latest updates, 0 before the first.
    """

    def __init__(self, engine: Engine, requests: Sequence[Asked]) -> None:
        """Take the requests of this rank."""
        asked = [(request.name, request.placement, request.dim) for request in requests]
        # Python's hash of a string differs between processes.
        self.mark = zlib.crc32(repr(asked).encode()) & 0x7FFFFFFF
        self._rank, self._texts = engine.rank, [_text(*one) for one in asked]
        handles = [handle for request in requests for handle in request.handles]
        none: Any = (tf.constant(0), tf.zeros([0], tf.int32), tf.zeros([0]))
        self.trained, self._kinds, self._rates = native.ops().rec_trained_by(handles) if handles else none

    def checks(self, marks: tf.Tensor, trained: tf.Tensor) -> list[tf.Operation]:
        """Return ops that fail unless all ranks agree, given their numbers [ranks]; in eager mode, fail at once."""
        if tf.executing_eagerly():
            self._check_now(np.asarray(marks), np.asarray(trained))
            return []
        others = tf.not_equal(marks, tf.constant(self.mark, marks.dtype))
        same = tf.logical_not(tf.reduce_any(others))
        alike = tf.logical_or(_alike(trained), tf.logical_not(same))
        rules = tf.gather(tf.constant(rule_names()), self._kinds)
        return [
            checked(same, self._other_lookups(), tf.where(others)[:, 0]),
            tf.raw_ops.Assert(condition=alike, data=[self._other_optimizers(), rules, self._rates], summarize=100),
        ]

    def _check_now(self, marks: Any, trained: Any) -> None:
        if (marks != self.mark).any():
            others = np.flatnonzero(marks != self.mark).tolist()
            raise tf.errors.InvalidArgumentError(None, None, f"{self._other_lookups()} {others}")
        known = trained[trained > 0]
        if len(known) and not (np.ptp(known // _RATES) == 0 and np.ptp(known % _RATES) <= _NEAR):
            pairs = zip(self._kinds.numpy(), self._rates.numpy(), strict=True)
            own = [f"{rule_names()[kind]} {rate:g}" for kind, rate in pairs]
            raise tf.errors.InvalidArgumentError(None, None, f"{self._other_optimizers()} {', '.join(own)}")

    def _other_lookups(self) -> str:
        return (
            f"all ranks must make the same lookups in the same order: rank {self._rank} looks up "
            f"{', '.join(self._texts)}, but other ranks look up other tables"
        )

    def _other_optimizers(self) -> str:
        return (
            f"the optimizer of {', '.join(self._texts)} differs between ranks in its rule or learning rate: use the "
            f"same one on every rank; rank {self._rank} trained with"
        )


def _text(name: str, placement: str, dim: int | None) -> str:
    return f"`{name}` ({placement}{'' if dim is None else f', {dim} wide'})" if name else f"a table ({placement})"


def _alike(trained: tf.Tensor) -> tf.Tensor:
    """Whether the ranks with a number above 0, which have trained, used one rule and one rate."""
    known = trained > 0
    span = [_span(part, known) for part in (trained // _RATES, trained % _RATES)]
    return tf.logical_and(span[0] <= 0, span[1] <= _NEAR)


def _span(values: tf.Tensor, known: tf.Tensor) -> tf.Tensor:
    """Return the range (maximum minus minimum) of the known values; negative if there are none."""
    return tf.reduce_max(tf.where(known, values, -1)) - tf.reduce_min(tf.where(known, values, 1 << 30))
