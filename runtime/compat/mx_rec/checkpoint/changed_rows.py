"""Computes the changes of a table since its last save inside the graph, by fingerprints of its rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import native
from runtime.checkpoint import TableRows
from runtime.checkpoint.admission_counters import mergeable, parse
from runtime.checkpoint.delta import Delta
from runtime.checkpoint.history import NOTHING, Baseline
from runtime.checkpoint.live_tables import snapshot_tensors
from runtime.table.table import Table

v1: Any = tf.compat.v1
_Ints = NDArray[np.int64]


class ChangedRows:
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


def without_rare(delta: Delta, before: Baseline, now: Baseline, least: int) -> tuple[Delta, Baseline]:
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
