"""Which keys of a counted table have a row, how rows begin, where they lie, and which of them a checkpoint drops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.embedding_variable.counted_table import UpdateRules
from runtime.storage.tiers import Storage
from runtime.table.admission_rules import CountingBloom

__all__ = ["Admission", "Eviction", "InitialRows", "KeyRules", "WarmStart"]


@dataclass(frozen=True)
class Admission:
    """A key gets a row by the update in which it was seen `threshold` times, duplicates included; 0 is at once."""

    threshold: int = 0
    #: Counts the keys without a row, instead of exact counters.
    bloom: CountingBloom | None = None

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field of a wrong type or range.
        """
        _validation.integer("threshold", self.threshold, 0)
        if self.bloom is not None:
            _validation.kind("bloom", self.bloom, CountingBloom, "a runtime.CountingBloom or None")


@dataclass(frozen=True)
class Eviction:
    """Saving a checkpoint drops rows; with both fields, those of either."""

    #: Those that no update touched for more global steps than these.
    steps_to_live: int | None = None
    #: Those whose half squared norm, 0.5 · Σ v², is below this.
    least_norm: float | None = None

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field of a wrong type or range.
        """
        if self.steps_to_live is not None:
            _validation.integer("steps_to_live", self.steps_to_live, 0)
        if self.least_norm is not None:
            _validation.real("least_norm", self.least_norm, 0, 3.4e38, whole=True)


@dataclass(frozen=True)
class InitialRows:
    """What a key without a row reads, and its row begins with: row key mod n of a matrix that the init op draws."""

    #: An initializer, or the values of one row for all; default: the table's, else truncated normal.
    initializer: Any = None
    #: The number n of rows of the matrix.
    rows: int = 4096
    #: What a key that waits for admission reads instead.
    refused: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field of a wrong type or range.
        """
        _validation.integer("rows", self.rows, 1)
        _validation.real("refused", self.refused, -3.4e38, 3.4e38, whole=True)

    def drawn(self, dim: int, initializer: Any = None) -> Callable[[], tf.Tensor]:
        """Return what makes the matrix [rows, dim], or [1, dim]; `initializer` is the table's own."""
        chosen = initializer if self.initializer is None else self.initializer
        chosen = tf.compat.v1.truncated_normal_initializer() if chosen is None else chosen

        def draw() -> tf.Tensor:
            made = chosen() if isinstance(chosen, type) else chosen
            if callable(made):
                return tf.cast(made([self.rows, dim], dtype=tf.float32), tf.float32)
            return tf.reshape(tf.cast(made, tf.float32), [1, dim])

        return draw


@dataclass(frozen=True)
class WarmStart:
    """A checkpoint from which the init op takes rows, counts and steps, while the optimizer's slots begin anew."""

    #: Its path, or a folder of which the latest is taken; None begins with no checkpoint.
    checkpoint: str | None
    #: What the table is called there; default: as here.
    name: str | None = None
    #: Whether a Saver that restores another checkpoint takes the rows from this one, too.
    always: bool = False

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field of a wrong type.
        """
        if self.checkpoint is not None:
            _validation.text("checkpoint", self.checkpoint, 4096)
        if self.name is not None:
            _validation.text("name", self.name, 1000)
        _validation.boolean("always", self.always)

    def path(self, table_name: str) -> str | None:
        """Return the path of the checkpoint for the table of that name, None where it is to begin with none.

        Raises:
            ValueError: it is not there.
        """
        if self.checkpoint is None:
            return None
        found = str(tf.train.latest_checkpoint(self.checkpoint) or self.checkpoint)
        if not tf.compat.v1.train.checkpoint_exists(found):
            raise ValueError(
                f"the table `{table_name}` is to begin with the checkpoint {self.checkpoint!r}, and there is none: "
                "give the path of one, or of a folder with some"
            )
        return found


@dataclass(frozen=True)
class KeyRules:
    """The rules of a counted table, given to `create_counted_table` and to columns of keys; None is the default."""

    admission: Admission | None = None
    eviction: Eviction | None = None
    #: Tiers below memory.
    storage: Storage | None = None
    initial: InitialRows | None = None
    #: Whether to count keys where there is no admission and no tier.
    counts: bool = False
    #: Whether to note the global step of updates where no eviction needs it.
    notes_step: bool = False
    warm_start: WarmStart | None = None

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field of a wrong type.
        """
        for name, kind in (
            ("admission", Admission),
            ("eviction", Eviction),
            ("storage", Storage),
            ("initial", InitialRows),
            ("warm_start", WarmStart),
        ):
            if getattr(self, name) is not None:
                _validation.kind(name, getattr(self, name), kind, f"a runtime.{kind.__name__} or None")
        _validation.boolean("counts", self.counts)
        _validation.boolean("notes_step", self.notes_step)

    @property
    def updates(self) -> UpdateRules:
        """What updates are to note about their keys."""
        admission, eviction = self.admission or Admission(), self.eviction or Eviction()
        return UpdateRules(
            threshold=admission.threshold,
            bloom=admission.bloom if admission.threshold else None,
            refused=float((self.initial or InitialRows()).refused),
            counts=self.counts or (self.storage is not None and self.storage.tiered),
            notes_step=self.notes_step or eviction.steps_to_live is not None,
            steps_to_live=eviction.steps_to_live,
            least_norm=eviction.least_norm,
        )
