"""Which checkpoint the next one may build on, and in which order files come and go: a kill costs at most one."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from runtime.checkpoint.increments import Increments
from runtime.checkpoint.seen import mergeable

__all__ = ["NOTHING", "Baseline", "History", "Writer", "remove_bundle"]


class Baseline(NamedTuple):
    """What is remembered of a table that was saved: keys int64 [n], fingerprints of the rows int64 [n], meta data."""

    keys: Any
    fingerprints: Any
    meta: Any


#: With this baseline every row has changed.
NOTHING = Baseline(*(np.zeros(0, np.int64) for _ in Baseline._fields))

#: Writes a bundle with this prefix: whole without baselines, else what changed since them. Returns those of now.
Writer = Callable[[str, "Sequence[Baseline] | None"], "list[Baseline]"]


class History:
    """The checkpoints of one saver: every `full_every`-th is whole, `keep` of them (0: all) stay restorable."""

    def __init__(self, full_every: int, keep: int | None) -> None:
        """Check the numbers.

        Raises:
            ValueError: a number that is too small.
        """
        if full_every < 1 or (keep or 0) < 0:
            raise ValueError(f"full_every={full_every}, max_to_keep={keep}: give 1 or more, 0 or more")
        self._full_every, self._keep = full_every, keep or 0
        self._since_full = 0
        self._last: tuple[Any, str, list[Baseline]] | None = None
        #: Paths and times of the checkpoints that can be restored, oldest first.
        self.known: list[tuple[str, float]] = []

    def forget_last(self) -> None:
        """Let the next checkpoint be a whole one."""
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
        """Write `<prefix>-<step>`, an increment if the last one was of the same `owner` (a session, say)."""
        path = f"{prefix}-{step}"
        index = Increments(prefix)
        index.directory.mkdir(parents=True, exist_ok=True)

        def note(names: set[str]) -> None:
            index.write()
            self._note(index, write_state, state_file)
            for name in names - {entry.name for entry in index.entries}:
                remove_bundle(index.directory / name, meta_suffix)

        name, before = Path(path).name, {entry.name for entry in index.entries}
        builds_on = self._base(owner, name, index)
        if name in before:
            # TensorFlow replaces data and index of a bundle in turn: a kill between the two would leave neither.
            index.forget(name)
            note(before)
        previous = self._write(owner, path, builds_on, write)
        index.add(name, previous, step, time.time())
        index.prune(self._keep)
        note(before)
        return path

    def _write(self, owner: Any, path: str, builds_on: str | None, write: Writer) -> str | None:
        """Write the bundle; return the name of what it builds on."""
        before = self._last[2] if self._last and builds_on else None
        now = write(path, before)
        if before and any(not mergeable(a.meta, b.meta) for a, b in zip(before, now, strict=True)):
            # The layout of a table's rows changed: no increment can be merged into the old ones.
            remove_bundle(Path(path), "")
            builds_on, now = None, write(path, None)
        self._since_full = 1 if builds_on is None else self._since_full + 1
        self._last = (weakref.ref(owner), Path(path).name, now)
        return builds_on

    def _base(self, owner: Any, name: str, index: Increments) -> str | None:
        """Return the checkpoint that the next one may hold the changes since: the last one, of this owner."""
        if self._last is None or self._last[0]() is not owner or self._since_full >= self._full_every:
            return None
        links = [link.name for link in index.chain(self._last[1])]
        return self._last[1] if links and name not in links else None

    def _note(self, index: Increments, write_state: bool, state_file: str | None) -> None:
        self.known = [(str(index.directory / entry.name), entry.time) for entry in index.entries]
        if write_state and self.known:
            paths = [path for path, _ in self.known]
            tf.compat.v1.train.update_checkpoint_state(str(index.directory), paths[-1], paths, state_file)


def remove_bundle(prefix: Path, meta_suffix: str) -> None:
    """Remove the files of a checkpoint, its index first: what is left of a killed removal is no checkpoint."""
    Path(f"{prefix}.index").unlink(missing_ok=True)
    for file in prefix.parent.glob(f"{prefix.name}.data-?????-of-?????"):
        file.unlink(missing_ok=True)
    Path(f"{prefix}.{meta_suffix}").unlink(missing_ok=True)
