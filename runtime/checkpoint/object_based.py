"""`IncrementalCheckpoint`: increments of a `tf.train.Checkpoint`, in eager mode."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from runtime import native
from runtime.checkpoint.bundle import CheckpointError, read_all
from runtime.checkpoint.history import NOTHING, Baseline, History
from runtime.checkpoint.increments import chain_of
from runtime.checkpoint.rows import DELTA_PARTS, PARTS
from runtime.table.table import Table

_DELTA = "delta_"


class IncrementalCheckpoint:
    """Saves a `tf.train.Checkpoint` completely at every `full_every`-th save, and only the tables' changes in between.

    Objects that are not tables are always saved completely. `tf.train.Checkpoint.read` reads the complete ones.
    """

    def __init__(
        self,
        checkpoint: tf.train.Checkpoint,
        tables: Sequence[Table],
        prefix: str | Path,
        full_every: int = 10,
        max_to_keep: int | None = 5,
    ) -> None:
        """Take a checkpoint, and those of its tables that are saved incrementally; files are `<prefix>-<step>`.

        Raises:
            ValueError: there is no table, one belongs to a v1 graph, or a number is too small.
        """
        strange = [table.table_name for table in tables if table.graph is not None]
        if strange or not tables:
            raise ValueError(
                f"`tables` of an IncrementalCheckpoint must be eager tables, at least one: got {strange or 'none'}; in "
                "a v1 graph use IncrementalSaver"
            )
        self._checkpoint, self._tables, self._prefix = checkpoint, list(tables), str(prefix)
        self._history = History(full_every, max_to_keep)

    def save(self, step: int) -> str:
        """Write `<prefix>-<step>` and return it."""
        return self._history.save(self, self._prefix, int(step), self._write)

    def restore(self, path: str | Path) -> None:
        """Restore a checkpoint of either kind into the existing objects.

        Raises:
            CheckpointError: a file is missing or damaged; the message names it.
        """
        self._history.forget_last()
        full, *deltas = chain_of(path)
        try:
            self._checkpoint.read(str(full))
            for delta in deltas:
                with self._switched([_Changes(NOTHING) for _ in self._tables]):
                    self._checkpoint.read(str(delta))
        except (tf.errors.OpError, IndexError, KeyError, ValueError) as error:
            for link in (full, *deltas):
                read_all(link)
            raise CheckpointError(f"{path} does not fit the objects: {error}") from error

    def _write(self, path: str, before: Sequence[Baseline] | None) -> list[Baseline]:
        kinds: list[Any] = [_Whole() for _ in self._tables] if before is None else [_Changes(base) for base in before]
        with self._switched(kinds):
            self._checkpoint.write(path)
        return [kind.now for kind in kinds]

    @contextlib.contextmanager
    def _switched(self, kinds: Sequence[Any]) -> Iterator[None]:
        """Let the tables save and restore in these ways."""
        resources = [table.resource for table in self._tables if table.resource is not None]
        for resource, kind in zip(resources, kinds, strict=True):
            resource.saved_as = kind
        try:
            yield
        finally:
            for resource in resources:
                resource.saved_as = None


class _Whole:
    """All rows, under the names of a table without increments."""

    def __init__(self) -> None:
        self.now = NOTHING

    def tensors(self, handle: tf.Tensor) -> dict[str, tf.Tensor]:
        """Return the tensors to save."""
        rows = native.ops().rec_table_snapshot(handle)
        _, _, prints = native.ops().rec_changed_rows(*rows[:3], NOTHING.keys, NOTHING.fingerprints)
        self.now = Baseline(rows[0].numpy(), prints.numpy(), rows[3].numpy())
        return dict(zip(PARTS, rows, strict=True))

    def restore(self, handle: tf.Tensor, restored: dict[str, tf.Tensor]) -> None:
        """Replace the rows."""
        native.ops().rec_table_import(handle, *(restored[part] for part in PARTS))


class _Changes:
    """The rows that differ from a baseline."""

    def __init__(self, before: Baseline) -> None:
        self._before = before
        self.now = NOTHING

    def tensors(self, handle: tf.Tensor) -> dict[str, tf.Tensor]:
        """Return the tensors to save; only their names matter in a restore."""
        rows = native.ops().rec_table_snapshot(handle)
        changed, removed, prints = native.ops().rec_changed_rows(*rows[:3], *self._before[:2])
        self.now = Baseline(rows[0].numpy(), prints.numpy(), rows[3].numpy())
        parts = [*(tf.gather(part, changed) for part in rows[:3]), rows[3], removed]
        return {_DELTA + part: tensor for part, tensor in zip(DELTA_PARTS, parts, strict=True)}

    def restore(self, handle: tf.Tensor, restored: dict[str, tf.Tensor]) -> None:
        """Apply the saved changes to the rows."""
        *rows, removed = (restored[_DELTA + part] for part in DELTA_PARTS)
        native.ops().rec_table_remove(handle, removed)
        native.ops().rec_table_merge(handle, *rows)
