"""Incremental checkpoints of a Saver: complete ones (base), and the rows that changed in between (delta)."""

from __future__ import annotations

import dataclasses
import shutil
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import native
from runtime.checkpoint import TableRows, backup
from runtime.checkpoint.admission_counters import mergeable, parse
from runtime.checkpoint.delta import Delta
from runtime.checkpoint.history import NOTHING, Baseline
from runtime.checkpoint.live_tables import snapshot_tensors
from runtime.compat.mx_rec.checkpoint import admission_files, layout
from runtime.compat.mx_rec.checkpoint.model_index import BASE, DELTA, ModelIndex
from runtime.compat.mx_rec.embedding.sparse_embedding import BaseSparseEmbedding
from runtime.compat.mx_rec.state import ConfigInitializer
from runtime.table.table import Table

_Items = dict[str, dict[str, NDArray[Any]]]
v1: Any = tf.compat.v1
_Ints = NDArray[np.int64]


def contents(tables: Iterable[BaseSparseEmbedding], rows: Iterable[TableRows]) -> _Items:
    """Return the items of tables, by the names of the tables."""
    optimizer = ConfigInitializer.get_instance().optimizer_config.optimizer_instance
    rule = "none" if optimizer is None else optimizer.rule
    return {
        table.table_name: {**layout.items_of(one, rule), **admission_files.items_of(one.meta, table.admission)}
        for table, one in zip(tables, rows, strict=True)
    }


class Increments:
    """The state of a Saver's series of checkpoints."""

    def __init__(self, tables: list[BaseSparseEmbedding]) -> None:
        """Create the ops that find changes, before the graph is final."""
        self._tables = tables
        self._changed = [_ChangedRows(table) for table in tables]
        #: Session, checkpoint and rows that the next increment builds on.
        self._last: tuple[Any, Path, list[Baseline]] | None = None

    def write(self, session: Any, path: Path, kind: str, step: int) -> Path:
        """Write the tables of the checkpoint `path` and its entry in the index; return their directory.

        An increment becomes a complete checkpoint if it would not build on the last entry of the index: in a session
        that has neither saved nor restored, beside another training, or when it replaces a checkpoint that it builds
        on.
        """
        started = time.time()
        index = ModelIndex.of(path)
        kind = kind if self._fits(session, path, index) else BASE
        directory = layout.directory_of(path, kind == DELTA)
        before = self._last[2] if self._last else []
        items, now = self._increment(session, before) if kind == DELTA else self._whole(session)
        layout.write_tables(directory, items)
        index.add(path, kind, step, started, time.time() - started)
        self._last = (weakref.ref(session), path, now)
        return directory

    def _fits(self, session: Any, path: Path, index: ModelIndex) -> bool:
        if self._last is None or self._last[0]() is not session or not index.entries:
            return False
        last = index.path(index.entries[-1])
        links = index.chain(last.name)
        names = [one.name.partition("sparse-")[2] for one in links]
        return (
            last.absolute() == self._last[1].absolute()
            and not {path.name, *backup.of(path, names)} & set(names)
            and bool(links)
            and all(one.is_dir() for one in links)
        )

    def _whole(self, session: Any) -> tuple[_Items, list[Baseline]]:
        snapshots = [changed.now(session) for changed in self._changed]
        return contents(self._tables, (rows for rows, _ in snapshots)), [now for _, now in snapshots]

    def _increment(self, session: Any, before: list[Baseline]) -> tuple[_Items, list[Baseline]]:
        least = ConfigInitializer.get_instance().settings.recent_key_count_threshold
        deltas, noted = [], []
        for changed, earlier in zip(self._changed, before, strict=True):
            delta, now = changed.since(session, earlier)
            delta, now = _without_rare(delta, earlier, now, least) if least else (delta, now)
            deltas.append(delta)
            noted.append(now)
        items = contents(self._tables, (delta.rows for delta in deltas))
        for of_table, delta in zip(items.values(), deltas, strict=True):
            of_table[layout.REMOVED] = np.asarray(delta.removed, np.int64)
        return items, noted

    def chosen(self, path: Path, number: Callable[[int], str]) -> Path:
        """Return the checkpoint to restore instead of `path`, according to `init(restore_model_version=...)`.

        Raises:
            ValueError: the index has no such step.
        """
        version = ConfigInitializer.get_instance().restore_model_version
        if version is None:
            return path
        index = ModelIndex.of(path)
        if version not in {entry["global_step"] for entry in index.entries}:
            raise ValueError(
                f"`restore_model_version` is {version}, but model_index.json beside {path} has no such step: give "
                f"one of {sorted(entry['global_step'] for entry in index.entries)}"
            )
        return path.with_name(f"{path.name.rpartition('-')[0]}{number(version)}")

    def restored(self, session: Any, path: Path) -> None:
        """Let the next increment of `session` build on the checkpoint that it restored."""
        self._last = (weakref.ref(session), path, [changed.noted(session) for changed in self._changed])

    def has(self, path: str) -> bool:
        """Whether the checkpoint `path` belongs to the series, so that `tidy` removes its tables."""
        index = ModelIndex.of(Path(path))
        return any(index.path(entry) == Path(path) for entry in index.entries)

    def tidy(self, path: Path) -> None:
        """Remove tables after the checkpoint `path` was saved: increments if it is complete, and unneeded ones.

        Tables are kept as long as the dense part of their checkpoint, or of an increment that builds on them, exists.
        """
        index = ModelIndex.of(path)
        if index.entries[-1]["type"] == BASE:
            for entry in index.entries:
                shutil.rmtree(layout.directory_of(index.path(entry), delta=True), ignore_errors=True)
        chains = (index.chain(one.name) for one in _with_dense(index))
        kept = {link for chain in chains if all(one.is_dir() for one in chain) for link in chain}
        for entry in index.entries[:-1]:
            directory = layout.directory_of(index.path(entry), entry["type"] == DELTA)
            if directory not in kept:
                shutil.rmtree(directory, ignore_errors=True)


def _with_dense(index: ModelIndex) -> Iterator[Path]:
    for entry in index.entries:
        path = index.path(entry)
        if path == index.path(index.entries[-1]) or tf.compat.v1.train.checkpoint_exists(str(path)):
            yield path


class _ChangedRows:
    """The ops that return a table's changes; they must be created before the graph is final."""

    def __init__(self, table: Table) -> None:
        """Create them in the table's graph."""
        keys, values, slots, meta = snapshot_tensors(table)
        with table.graph.as_default(), tf.control_dependencies(None), table.scope("changed"):
            self._before = [v1.placeholder(tf.int64, [None], name=name) for name in ("keys", "fingerprints")]
            changed, removed, prints = native.ops().rec_changed_rows(keys, values, slots, *self._before)
            rows = [*(tf.gather(part, changed) for part in (keys, values, slots)), meta]
        #: To fetch: the changed rows, the removed keys, and the baseline for the next save.
        self.fetches = rows, removed, (keys, prints, meta)
        #: To fetch for a complete checkpoint: all rows, and the baseline.
        self.whole = (keys, values, slots, meta), (keys, prints, meta)

    def feeds(self, before: Baseline) -> dict[Any, Any]:
        """Return what to feed in order to get the changes since `before`."""
        return dict(zip(self._before, before[:2], strict=True))

    def since(self, session: Any, before: Baseline) -> tuple[Delta, Baseline]:
        """Return the changes since `before` and the new baseline; all rows if another optimizer has slots in them."""
        rows, removed, noted = session.run(self.fetches, self.feeds(before))
        now = Baseline(*noted)
        if before is not NOTHING and not mergeable(before.meta, now.meta):
            rows, _, noted = session.run(self.fetches, self.feeds(NOTHING))
            now = Baseline(*noted)
            removed = np.setdiff1d(before.keys, now.keys)
        return Delta(TableRows(*rows), removed), now

    def noted(self, session: Any) -> Baseline:
        """Return the baseline for the next save."""
        return Baseline(*session.run(self.whole[1], self.feeds(NOTHING)))

    def now(self, session: Any) -> tuple[TableRows, Baseline]:
        """Return all rows, and the baseline for the next save."""
        rows, noted = session.run(self.whole, self.feeds(NOTHING))
        return TableRows(*rows), Baseline(*noted)


def _without_rare(delta: Delta, before: Baseline, now: Baseline, least: int) -> tuple[Delta, Baseline]:
    """Drop rows whose keys occurred fewer than `least` times between the two; a later increment has them."""
    counts, earlier = (_counts_of(one.meta, delta.rows.keys) for one in (now, before))
    rare = delta.rows.keys[counts - earlier < least]
    kept = dataclasses.replace(delta, rows=delta.rows.take(~np.isin(delta.rows.keys, rare)))
    # Dropped rows keep their old baseline, or none if they are new.
    known = ~np.isin(now.keys, rare) | np.isin(now.keys, before.keys)
    prints = now.fingerprints.copy()
    order = np.argsort(before.keys)
    at = np.flatnonzero(np.isin(now.keys, np.intersect1d(rare, before.keys)))
    prints[at] = before.fingerprints[order[np.searchsorted(before.keys, now.keys[at], sorter=order)]]
    return kept, Baseline(now.keys[known], prints[known], now.meta)


def _counts_of(meta: _Ints, keys: _Ints) -> _Ints:
    """Return the counts of keys, [n]; 0 for unknown keys."""
    seen = parse(meta)
    if seen is None or not len(seen.keys):
        return np.zeros(len(keys), np.int64)
    order = np.argsort(seen.keys)
    at = order[np.minimum(np.searchsorted(seen.keys, keys, sorter=order), len(order) - 1)]
    return np.where(seen.keys[at] == keys, seen.sightings[at] >> 32, 0)
