"""Counted tables: only updates create keys, count them, admit them and record the global step.

DeepRec's EmbeddingVariable works like this. A lookup is read-only, unless the rules let it do all but train, as in
DeepRec until 2022. A key starts as one of the rows of a matrix that the init op draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

from runtime import native
from runtime.policy import eviction
from runtime.table.admission_rules import CountingBloom
from runtime.table.anchor import Anchor
from runtime.table.arguments import TableArguments
from runtime.table.table import Table, stacked


@dataclass(frozen=True)
class UpdateRules:
    """What updates record about their keys, and which rows are dropped from a checkpoint."""

    #: Occurrences in gradients, duplicates included, after which a key gets a row; 0: at once.
    threshold: int = 0
    #: Counts keys without a row by a Bloom filter instead of exact counters.
    bloom: CountingBloom | None = None
    #: The value read for keys that wait for admission, if there is a threshold.
    refused: float = 0.0
    #: Whether to count keys if there is no threshold.
    counts: bool = False
    #: Whether to record the global step.
    notes_step: bool = False
    #: Saving drops rows that were not updated for more steps than this.
    steps_to_live: int | None = None
    #: Saving drops rows with a half squared norm below this.
    least_norm: float | None = None
    #: Whether lookups create, count and admit keys, and note the global step, so that updates only train.
    lookups_create: bool = False

    @property
    def tracks(self) -> bool:
        """Whether anything is recorded about keys."""
        return self.threshold > 0 or self.counts or self.notes_step

    @property
    def fuses(self) -> bool:
        """Whether each occurrence of a key may share one row and gradient, as in fused lookups."""
        return not (self.tracks or self.lookups_create)

    @property
    def filter_settings(self) -> dict[str, Any]:
        """The Bloom filter as attributes of an op; empty without one."""
        if self.bloom is None:
            return {}
        return {
            "bloom_elements": self.bloom.max_element_size,
            "bloom_rate": self.bloom.false_positive_probability,
            "bloom_bits": self.bloom.counter_bits,
        }


class Slots(NamedTuple):
    """The optimizer of a table: its rule, and names and initial values of its slots."""

    rule: str = "none"
    names: tuple[str, ...] = ()
    starts: tuple[float, ...] = ()


class CountedTable(Table):
    """A table of a v1 graph with `UpdateRules`; rows start as rows of the matrix [n, dim] from `initial_rows`."""

    reads_each_step = True

    def __init__(
        self,
        arguments: TableArguments,
        rules: UpdateRules,
        initial_rows: Callable[[], tf.Tensor],
        anchor: Callable[[CountedTable], Anchor],
        share: tuple[str, int, int] | None = None,
    ) -> None:
        """Create handle and anchor in the current graph; a key starts as row floor-mod(key, n) of the matrix.

        `share` is (name of the partitioned variable, number of this part, number of parts).
        """
        self.share = share or (arguments.name, 0, 1)
        #: Slots of the optimizer that trains the table.
        self.slots = Slots()
        self.rules = rules
        self.initial_rows = initial_rows
        self.counts_gradients = rules.tracks
        super().__init__(arguments, anchor)

    def updated(self, keys: tf.Tensor, gradients: tf.Tensor, hyper: Sequence[Any], **settings: Any) -> tf.Operation:
        """Count the keys [n], create admitted ones, and update their rows by gradients [n, dim]."""
        if self.on_device is not None:
            return self._updated_on_device(keys, gradients, hyper, settings)
        if not self.rules.tracks or self.rules.lookups_create:
            return super().updated(keys, gradients, hyper, **settings)
        return native.ops().rec_apply_and_count(
            self.handle, keys, gradients, stacked(hyper), self._now(), **self._counting(), **settings
        )

    def _updated_on_device(
        self, keys: tf.Tensor, gradients: tf.Tensor, hyper: Sequence[Any], settings: dict[str, Any]
    ) -> tf.Operation:
        """Count all keys; update rows on the device there, and others, which may be new, on the host."""
        assert self.on_device is not None

        def on_host(others: tf.Tensor, their: tf.Tensor) -> tf.Operation:
            counted = [self.created_by_lookup(keys)] if self.rules.tracks and not self.rules.lookups_create else []
            with tf.control_dependencies(counted):
                return native.ops().rec_apply(self.handle, others, their, stacked(hyper), **settings)

        return self.on_device.updated(keys, gradients, hyper, **settings, on_host=on_host)

    def created_by_lookup(self, keys: tf.Tensor) -> tf.Tensor:
        """Count the keys and create those that are admitted; the result's op does it."""
        anchor = self.variable.tensor()
        if not self.rules.tracks:
            return native.ops().rec_lookup_or_insert(self.handle, anchor, keys, [])
        return native.ops().rec_lookup_and_admit(self.handle, anchor, keys, self._now(), **self._counting())[0]

    def _now(self) -> tf.Tensor:
        return tf.reshape(global_step(), [1]) if self.rules.notes_step else tf.zeros([0], tf.int64)

    def _counting(self) -> dict[str, Any]:
        return {"threshold": max(1, self.rules.threshold), **self.rules.filter_settings}  # nothing is counted at 0

    def sightings(self, keys: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Return for each key the number of counted occurrences (or 0) and the global step of the last one (or -1)."""
        with self.scope("sightings"):
            counts, steps = native.ops().rec_sightings(self.handle, tf.cast(keys, tf.int64))
            return counts, steps

    def known_keys(self) -> tf.Tensor:
        """Return the number of keys with a row or waiting for one, as an int64 scalar."""
        with self.scope("known_keys"):
            return native.ops().rec_table_size(self.handle) + native.ops().rec_table_waiting(self.handle)

    def dropped(self) -> list[tf.Operation]:
        """Return ops that drop the rows that checkpoints must not contain."""
        rules, ops = self.rules, []
        if rules.steps_to_live is not None:
            with self.scope("steps_to_live"):
                step = global_step()
                # With no key, this only makes sure that there is a time to compare with before the first update.
                counted, _ = native.ops().rec_lookup_and_admit(
                    self.handle, self.variable.tensor(), tf.zeros([0], tf.int64), tf.reshape(step, [1]), threshold=1
                )
            with tf.control_dependencies([counted]):
                ops.append(eviction.evict_by_step(self, rules.steps_to_live, step).op)
        if rules.least_norm is not None:
            ops.append(eviction.evict_by_norm(self, rules.least_norm).op)
        return ops


def global_step() -> tf.Tensor:
    """Return the current value of the graph's global step, created if it does not exist, as an int64 scalar."""
    with tf.init_scope():
        step = tf.compat.v1.train.get_or_create_global_step()
    # A ref variable would be read only when the consumer runs, perhaps after it was incremented.
    return tf.cast(tf.identity(step), tf.int64)
