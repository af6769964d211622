"""Rules of counted tables: admission, eviction, initial rows, storage tiers and warm start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.embedding_variable.counted_table import UpdateRules
from runtime.storage.device import Device
from runtime.storage.tiers import Storage
from runtime.table.admission_rules import CountingBloom
from runtime.table.arguments import checked_value_dtype


@dataclass(frozen=True)
class Admission:
    """Admission by count: a key gets a row in the update in which it occurs for the `threshold`-th time; 0: at once."""

    threshold: int = 0
    #: Counts keys without a row by a Bloom filter instead of exact counters.
    bloom: CountingBloom | None = None

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range.
        """
        _validation.integer("threshold", self.threshold, 0)
        if self.bloom is not None:
            _validation.kind("bloom", self.bloom, CountingBloom, "a runtime.CountingBloom or None")


@dataclass(frozen=True)
class Eviction:
    """Eviction when a checkpoint is saved; with both fields set, rows that meet either condition are dropped."""

    #: Drop rows that were not updated for more global steps than this.
    steps_to_live: int | None = None
    #: Drop rows with a half squared norm, 0.5 · Σ v², below this.
    least_norm: float | None = None

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range.
        """
        if self.steps_to_live is not None:
            _validation.integer("steps_to_live", self.steps_to_live, 0)
        if self.least_norm is not None:
            _validation.real("least_norm", self.least_norm, 0, 3.4e38, whole=True)


@dataclass(frozen=True)
class InitialRows:
    """Initial rows, also read for keys without a row: row key mod n of a matrix that the init op draws."""

    #: An initializer, or the values of a single row for all keys; default: the table's, else truncated normal.
    initializer: Any = None
    #: The number n of rows of the matrix.
    rows: int = 4096
    #: The value that is read for keys that wait for admission.
    refused: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range.
        """
        _validation.integer("rows", self.rows, 1)
        _validation.real("refused", self.refused, -3.4e38, 3.4e38, whole=True)

    def drawn(self, dim: int, initializer: Any = None) -> Callable[[], tf.Tensor]:
        """Return a function that draws the matrix [rows, dim], or [1, dim]; `initializer` is the table's own."""
        chosen = initializer if self.initializer is None else self.initializer
        chosen = tf.compat.v1.truncated_normal_initializer() if chosen is None else chosen

        def draw() -> tf.Tensor:
            initializer = chosen() if isinstance(chosen, type) else chosen
            if callable(initializer):
                return tf.cast(initializer([self.rows, dim], dtype=tf.float32), tf.float32)
            return tf.reshape(tf.cast(initializer, tf.float32), [1, dim])

        return draw


@dataclass(frozen=True)
class WarmStart:
    """A checkpoint from which the init op takes rows, counts and steps; the optimizer's slots start afresh."""

    #: Its path, or a directory, whose latest checkpoint is used; None: no checkpoint.
    checkpoint: str | None
    #: The table's name in the checkpoint; default: its own name.
    name: str | None = None
    #: Whether the rows come from this checkpoint also when a Saver restores another one.
    always: bool = False

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type.
        """
        if self.checkpoint is not None:
            _validation.text("checkpoint", self.checkpoint, 4096)
        if self.name is not None:
            _validation.text("name", self.name, 1000)
        _validation.boolean("always", self.always)

    def path(self, table_name: str) -> str | None:
        """Return the path of the checkpoint for a table; None if it starts from none.

        Raises:
            ValueError: the checkpoint does not exist.
        """
        if self.checkpoint is None:
            return None
        latest = str(tf.train.latest_checkpoint(self.checkpoint) or self.checkpoint)
        if not tf.compat.v1.train.checkpoint_exists(latest):
            raise ValueError(
                f"the table `{table_name}` cannot start from the checkpoint {self.checkpoint!r}, which does not exist: "
                "give the path of a checkpoint, or of a directory with checkpoints"
            )
        return latest


@dataclass(frozen=True)
class KeyRules:
    """The rules of a counted table, for `create_counted_table` and for columns of keys; None means the default."""

    admission: Admission | None = None
    eviction: Eviction | None = None
    #: Storage tiers below memory.
    storage: Storage | None = None
    #: Where rows lie and train, in v1 graphs, and how many at most.
    device: Device | None = None
    device_rows: int = 1
    initial: InitialRows | None = None
    #: Whether to count keys if neither admission nor storage tiers need it.
    counts: bool = False
    #: Whether to record the global step of updates if no eviction needs it.
    notes_step: bool = False
    warm_start: WarmStart | None = None
    #: Whether lookups create, count and admit keys, and note the global step, instead of updates.
    lookups_create: bool = False
    #: How values are stored: tf.float32, tf.bfloat16 or tf.float16; lookups give float32 in any case.
    value_dtype: Any = tf.float32

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type.
        """
        for name, kind in (
            ("admission", Admission),
            ("eviction", Eviction),
            ("storage", Storage),
            ("device", Device),
            ("initial", InitialRows),
            ("warm_start", WarmStart),
        ):
            if getattr(self, name) is not None:
                _validation.kind(name, getattr(self, name), kind, f"a runtime.{kind.__name__} or None")
        _validation.integer("device_rows", self.device_rows, 1, 10**9)
        _validation.boolean("counts", self.counts)
        _validation.boolean("notes_step", self.notes_step)
        _validation.boolean("lookups_create", self.lookups_create)
        if checked_value_dtype(self.value_dtype) != tf.float32 and self.device is not None:
            raise ValueError(
                f"`value_dtype` {self.value_dtype!r} and `device` exclude each other, because rows on a device are "
                "float32: use one of them"
            )

    @property
    def updates(self) -> UpdateRules:
        """What updates record about their keys."""
        admission, eviction = self.admission or Admission(), self.eviction or Eviction()
        return UpdateRules(
            threshold=admission.threshold,
            bloom=admission.bloom if admission.threshold else None,
            refused=float((self.initial or InitialRows()).refused),
            counts=self.counts or (self.storage is not None and self.storage.tiered),
            notes_step=self.notes_step or eviction.steps_to_live is not None,
            steps_to_live=eviction.steps_to_live,
            least_norm=eviction.least_norm,
            lookups_create=self.lookups_create,
        )
