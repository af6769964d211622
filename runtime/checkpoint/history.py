"""Decides which checkpoint the next one may build on, and in which order files are written and removed.

At any moment, every checkpoint in TensorFlow's state file can be restored, even if the process is killed: a new one
is written in the order files, list, state file; an old one is removed in the order state file, list, files.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from runtime.checkpoint import backup
from runtime.checkpoint.admission_counters import mergeable
from runtime.checkpoint.increments import Increments


class Baseline(NamedTuple):
    """What a saver keeps of a saved table: keys int64 [n], fingerprints of the rows int64 [n], metadata."""

    keys: Any
    fingerprints: Any
    meta: Any


#: With this baseline, every row counts as changed.
NOTHING = Baseline(*(np.zeros(0, np.int64) for _ in Baseline._fields))

#: Writes a bundle with this prefix: complete if baselines are None, else the changes since them. Returns new baselines.
Writer = Callable[[str, "Sequence[Baseline] | None"], "list[Baseline]"]


class History:
    """The checkpoints of one saver: every `full_every`-th is complete, and the last `keep` (0: all) can be restored."""

    def __init__(self, full_every: int, keep: int | None) -> None:
        """Check the arguments.

        Raises:
            ValueError: `full_every` is below 1, or `keep` below 0.
        """
        if full_every < 1 or (keep or 0) < 0:
            raise ValueError(f"full_every={full_every}, max_to_keep={keep}: they must be at least 1 and at least 0")
        self._full_every, self._keep = full_every, keep or 0
        self._since_full = 0
        self._last: tuple[Any, str, list[Baseline]] | None = None
        #: Paths and times of the checkpoints that are kept, oldest first.
        self.known: list[tuple[str, float]] = []

    def forget_last(self) -> None:
        """Make the next checkpoint a complete one."""
        self._last = None

    def save(
        self,
        owner: Any,
        prefix: str,
        step: int,
        write: Writer,
        write_state: bool = True,
        state_file: str | None = None,
        meta_suffix: str = "meta",
    ) -> str:
        """Write `<prefix>-<step>`, as an increment if the last one had the same `owner` (such as a session)."""
        path, index = Path(f"{prefix}-{step}"), Increments(prefix)
        index.directory.mkdir(parents=True, exist_ok=True)
        builds_on = self._base(owner, path.name, index)
        _set_aside(index, path, state_file, meta_suffix)
        previous = self._write(owner, str(path), builds_on, write)
        index.add(path.name, previous, step, time.time())
        index.write()
        self._name(index, path, write_state, state_file, meta_suffix)
        return f"{prefix}-{step}"

    def _name(self, index: Increments, path: Path, write_state: bool, state_file: str | None, meta_suffix: str) -> None:
        """Add the saved checkpoint to the state file, and drop those that are not kept.

        The list loses a checkpoint after the state file does, and before its files are removed, so that every
        checkpoint in the state file can be restored.
        """
        before, asides = index.names(), backup.of(path, index.names())
        if not write_state:
            for aside in asides:
                backup.rename_in_state(index.directory, state_file, aside, path.name)
        named = [] if write_state else backup.named(index.directory, state_file)
        needed = {link.name for name in named for link in index.chain(name)}
        for aside in set(asides) - needed:
            index.forget(aside)
        index.prune(self._keep, needed)
        self.known = [(str(index.directory / entry.name), entry.time) for entry in index.entries]
        if write_state:
            paths = [known for known, _ in self.known]
            tf.compat.v1.train.update_checkpoint_state(str(index.directory), paths[-1], paths, state_file)
        if index.names() != before:
            index.write()
        for name in {*before, *backup.on_disk(path)} - set(index.names()):
            backup.remove_bundle(index.directory / name, meta_suffix)

    def _write(self, owner: Any, path: str, builds_on: str | None, write: Writer) -> str | None:
        """Write the bundle; return the name of the checkpoint that it builds on, None if it is complete."""
        before = self._last[2] if self._last and builds_on else None
        now = write(path, before)
        if before and any(not mergeable(a.meta, b.meta) for a, b in zip(before, now, strict=True)):
            # The row layout of a table changed, so increments cannot be merged into the old rows.
            backup.remove_bundle(Path(path))
            builds_on, now = None, write(path, None)
        self._since_full = 1 if builds_on is None else self._since_full + 1
        self._last = (weakref.ref(owner), Path(path).name, now)
        return builds_on

    def _base(self, owner: Any, name: str, index: Increments) -> str | None:
        """Return the checkpoint that the next one may be an increment of: the last one, if it has this owner."""
        if self._last is None or self._last[0]() is not owner or self._since_full >= self._full_every:
            return None
        links = [link.name for link in index.chain(self._last[1])]
        return self._last[1] if links and name not in links else None


def _set_aside(index: Increments, path: Path, state_file: str | None, meta_suffix: str) -> None:
    """Make room for the checkpoint `path`: if one of that name is listed, it is kept under another name."""
    name, is_listed = path.name, path.name in index.names()
    is_named = name in backup.named(index.directory, state_file)
    if (is_listed or is_named) and backup.exists(path):
        other = backup.free_name(path)
        backup.link_bundle(path, other, meta_suffix)
        if is_listed:
            index.copy(name, other.name)
            index.write()
        backup.rename_in_state(index.directory, state_file, name, other.name)
    if is_listed:
        index.forget(name)
        index.write()
    backup.remove_bundle(path, meta_suffix)
