"""Tables that only their updates change: an update creates keys, counts them, admits them and notes the global step.

So it is with DeepRec's EmbeddingVariable. A look-up reads, and nothing else; a key starts with one of the rows of a
matrix that the init op draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

from runtime import native
from runtime.policy import eviction
from runtime.table.admission_rules import CountingBloom
from runtime.table.anchor import Anchor
from runtime.table.arguments import TableArguments
from runtime.table.table import Table


@dataclass(frozen=True)
class UpdateRules:
    """What updates note about their keys, and which rows a checkpoint drops."""

    #: A key gets a row when it was in gradients so often, duplicates included; 0 is at once.
    threshold: int = 0
    #: Counts keys without a row instead of exact counters.
    bloom: CountingBloom | None = None
    #: What keys read that wait for a row, where there is a threshold.
    refused: float = 0.0
    #: Whether to count keys where there is no threshold.
    counts: bool = False
    #: Whether to note the global step.
    notes_step: bool = False
    #: Saving drops rows that no update touched for more steps than these.
    steps_to_live: int | None = None
    #: Saving drops rows whose half squared norm is below this.
    least_norm: float | None = None

    @property
    def tracks(self) -> bool:
        """Whether anything is noted."""
        return self.threshold > 0 or self.counts or self.notes_step

    @property
    def filter_settings(self) -> dict[str, Any]:
        """The Bloom filter as attributes of an op; none where there is no filter."""
        if self.bloom is None:
            return {}
        return {
            "bloom_elements": self.bloom.max_element_size,
            "bloom_rate": self.bloom.false_positive_probability,
            "bloom_bits": self.bloom.counter_bits,
        }


class Slots(NamedTuple):
    """The optimizer of a table: its rule, the names of its slots, and what they start with."""

    rule: str = "none"
    names: tuple[str, ...] = ()
    starts: tuple[float, ...] = ()


class CountedTable(Table):
    """A table of a v1 graph with `UpdateRules`; its rows start from the matrix [n, dim] that `initial_rows` makes."""

    reads_each_step = True

    def __init__(
        self,
        arguments: TableArguments,
        rules: UpdateRules,
        initial_rows: Callable[[], tf.Tensor],
        anchor: Callable[[CountedTable], Anchor],
        share: tuple[str, int, int] | None = None,
    ) -> None:
        """Make handle and anchor in the current graph: row floor-mod(key, n) is where a key starts.

        `share` is the name of a partitioned variable, the number of this part and how many there are.
        """
        self.share = share or (arguments.name, 0, 1)
        #: The optimizer that trains it.
        self.slots = Slots()
        self.rules = rules
        self.initial_rows = initial_rows
        super().__init__(arguments, anchor)

    def updated(self, keys: tf.Tensor, gradients: tf.Tensor, hyper: tf.Tensor, **settings: Any) -> tf.Operation:
        """Count the keys [n], create those that are admitted, and update their rows by gradients [n, dim]."""
        if not self.rules.tracks:
            return super().updated(keys, gradients, hyper, **settings)
        now = tf.reshape(global_step(), [1]) if self.rules.notes_step else tf.zeros([0], tf.int64)
        threshold = max(1, self.rules.threshold)  # the engine counts nothing at 0
        return native.ops().rec_apply_and_count(
            self.handle, keys, gradients, hyper, now, threshold=threshold, **self.rules.filter_settings, **settings
        )

    def sightings(self, keys: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Return how often updates counted each key, and the global step of its last one: 0 and -1 for none."""
        with self.scope("sightings"):
            counts, steps = native.ops().rec_sightings(self.handle, tf.cast(keys, tf.int64))
            return counts, steps

    def known_keys(self) -> tf.Tensor:
        """Return the number of keys with a row and of those that wait for one, an int64 scalar."""
        with self.scope("known_keys"):
            return native.ops().rec_table_size(self.handle) + native.ops().rec_table_waiting(self.handle)

    def dropped(self) -> list[tf.Operation]:
        """Return ops that drop what no checkpoint is to hold."""
        rules, ops = self.rules, []
        if rules.steps_to_live is not None:
            with self.scope("steps_to_live"):
                step = global_step()
                # Without a key it only makes sure that there is a time to compare with, before the first update too.
                counted, _ = native.ops().rec_lookup_and_admit(
                    self.handle, self.variable.tensor(), tf.zeros([0], tf.int64), tf.reshape(step, [1]), threshold=1
                )
            with tf.control_dependencies([counted]):
                ops.append(eviction.evict_by_step(self, rules.steps_to_live, step).op)
        if rules.least_norm is not None:
            ops.append(eviction.evict_by_norm(self, rules.least_norm).op)
        return ops


def global_step() -> tf.Tensor:
    """Return the global step of the graph, made where it has none, as an int64 scalar that is read here."""
    with tf.init_scope():
        step = tf.compat.v1.train.get_or_create_global_step()
    # A reference variable would be read when the op that takes it runs, which may be after another op added to it.
    return tf.cast(tf.identity(step), tf.int64)
