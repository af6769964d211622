"""Imports this rank's rows into a table of a v1 graph from checkpoints of any number of ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count, takewhile
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.ranks import shares
from runtime.embedding_variable import checkpoint_layout
from runtime.embedding_variable.checkpoint_reader import BLOOM, BUCKETS
from runtime.embedding_variable.counted_anchor import CountedAnchor
from runtime.embedding_variable.counted_table import CountedTable
from runtime.ranks import placements
from runtime.ranks.process_group import current
from runtime.table.anchor import GraphAnchor
from runtime.table.clusters.servers import ROWS
from runtime.table.table import Table

_v1: Any = tf.compat.v1
_Ints = NDArray[np.int64]


def import_of(anchor: GraphAnchor) -> Import | CountedImport:
    """Return the importer of a table's rows, with its ops created in the current graph."""
    return CountedImport(anchor) if isinstance(anchor, CountedAnchor) else Import(anchor)


class Import:
    """Imports rows whose slots and metadata are stored with them."""

    def __init__(self, anchor: GraphAnchor) -> None:
        """Create the op."""
        self._table: Table = anchor.table
        self._given: list[tf.Tensor] = []
        with tf.name_scope(f"{self._table.graph_name}/"), tf.name_scope("rows_of_rank"):
            if self._table.is_save:
                self._given = [
                    _v1.placeholder(dtype, [None] * rank, name)
                    for name, dtype, rank in (
                        ("keys", tf.int64, 1),
                        ("values", tf.float32, 2),
                        ("slots", tf.float32, 2),
                        ("meta", tf.int64, 1),
                    )
                ]
            self._op = anchor.restore([tf.zeros([0, self._table.dim]), *self._given], None)

    def is_in(self, bundle: Bundle) -> bool:
        """Whether a checkpoint has the table's rows; also true if the table is not saved."""
        return not self._given or self._table.table_name + ROWS[0] in bundle

    def run(self, session: Any, bundles: Sequence[Bundle]) -> None:
        """Import this rank's rows of all parts."""
        if not self._given:
            session.run(self._op)
            return
        name = self._table.table_name
        own = [shares.own_rows(self._table, [one.read(name + suffix) for suffix in ROWS]) for one in bundles]
        session.run(self._op, dict(zip(self._given, shares.merged(self._table, own), strict=True)))


class CountedImport:
    """Imports the rows of a counted table, or of a part of one, whose slots are separate tables."""

    def __init__(self, anchor: CountedAnchor) -> None:
        """Create the op, with the slots of the table's current optimizer."""
        self._anchor, table = anchor, anchor.table
        with tf.name_scope(f"{table.graph_name}/"), tf.name_scope("rows_of_rank"):

            def ids(name: str) -> tf.Tensor:
                return _v1.placeholder(tf.int64, [None], name)

            def numbers(name: str) -> tf.Tensor:
                return _v1.placeholder(tf.float32, [None, None], name)

            rows = checkpoint_layout.Rows(
                ids("keys"),
                ids("freqs"),
                ids("versions"),
                numbers("values"),
                _v1.placeholder(tf.int32, [], "width"),
                tuple(ids(name) for name in ("keys_filtered", "freqs_filtered", "versions_filtered")),
                tuple(_v1.placeholder(dtype, [None], name) for name, dtype in BLOOM.items() if table.rules.bloom),
                tuple((ids("slot_keys"), numbers("slot_values")) for _ in table.slots.names),
            )
            self._given: list[tf.Tensor] = tf.nest.flatten(rows)
            self._op = anchor.replaced(rows)

    def is_in(self, bundle: Bundle) -> bool:
        """Whether a checkpoint has the table's rows; also true if the table is not saved."""
        return self._anchor.source is not None or bool(_stems(bundle, self._anchor.table.share[0]))

    def run(self, session: Any, bundles: Sequence[Bundle]) -> None:
        """Import this rank's rows of all parts."""
        name, source = self._anchor.table.share[0], self._anchor.source
        if source is not None:  # as in every restore
            bundles, name = [Bundle(source[0])], source[1]
        rows = tf.nest.flatten(_counted_rows(self._anchor.table, name, bundles))
        session.run(self._op, dict(zip(self._given, rows, strict=True)))


def _stems(bundle: Bundle, name: str) -> list[str]:
    """Return the names under which a checkpoint has the variable, whole or in parts."""
    named = takewhile(lambda stem: f"{stem}-keys" in bundle, (f"{name}/part_{number}" for number in count()))
    return [*([name] if f"{name}-keys" in bundle else []), *named]


def _counted_rows(table: CountedTable, name: str, bundles: Sequence[Bundle]) -> checkpoint_layout.Rows:
    """Return this rank's share of the variable `name`; each bundle was written by one rank.

    Raises:
        CheckpointError: a bundle has no rows of the variable, or a file is damaged.
    """
    slots = table.slots.names
    read = [_read(table, bundle, stem, slots) for bundle in bundles for stem in _stems_in(bundle, name)]
    # Bloom counters cannot be split by key, but counters of ranks that share no key with this one are left out.
    bloom = [_counters(bundle, stem) for bundle in _sharing(bundles) for stem in _stems(bundle, name)]
    keys, freqs, versions, values, waiting, states = zip(*read, strict=True)
    return checkpoint_layout.Rows(
        np.concatenate(keys),
        np.concatenate(freqs),
        np.concatenate(versions),
        _stacked(values),
        max(one.shape[1] for one in values),
        tuple(np.concatenate(arrays) for arrays in zip(*waiting, strict=True)),
        tuple(np.concatenate(arrays) for arrays in zip(*bloom, strict=True)) if table.rules.bloom else (),
        tuple(
            (np.concatenate([one[at][0] for one in states]), _stacked([one[at][1] for one in states]))
            for at in range(len(slots))
        ),
    )


def _stems_in(bundle: Bundle, name: str) -> list[str]:
    stems = _stems(bundle, name)
    if not stems:
        raise CheckpointError(f"{bundle.path} holds no rows of the counted table `{name}`: {bundle.near(name)}")
    return stems


def _sharing(bundles: Sequence[Bundle]) -> list[Bundle]:
    """Return the bundles of ranks that had some of this rank's keys, as key mod ranks says."""
    engine = current()
    common = math.gcd(len(bundles), engine.size)
    return [bundle for number, bundle in enumerate(bundles) if (number - engine.rank) % common == 0]


def _read(table: CountedTable, bundle: Bundle, stem: str, slots: Sequence[str]) -> tuple[Any, ...]:
    """Return keys, frequencies, versions, values, waiting keys and slots under one stem."""
    keys, values = bundle.read(f"{stem}-keys"), bundle.read(f"{stem}-values")
    own = _own(table, keys)
    freqs = _noted(bundle, f"{stem}-freqs", keys, max(1, table.rules.threshold))
    versions = _noted(bundle, f"{stem}-versions", keys, -1)
    waiting = _there(bundle, f"{stem}-keys_filtered")
    waits = _own(table, waiting)
    counts = _noted(bundle, f"{stem}-freqs_filtered", waiting, 0)
    steps = _noted(bundle, f"{stem}-versions_filtered", waiting, -1)
    states = [_slot(table, bundle, f"{stem}/{slot}") for slot in slots]
    return keys[own], freqs[own], versions[own], values[own], (waiting[waits], counts[waits], steps[waits]), states


def _own(table: CountedTable, keys: _Ints) -> NDArray[np.bool_]:
    _, part, parts_there = table.share
    own: NDArray[np.bool_] = placements.held_here(keys, table.placement) & (keys % BUCKETS % parts_there == part)
    return own


def _slot(table: CountedTable, bundle: Bundle, stem: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return keys and values of a slot; empty if the checkpoint does not have it, so that it starts afresh."""
    if f"{stem}-keys" not in bundle:
        return np.zeros([0], np.int64), np.zeros([0, table.dim], np.float32)
    keys = bundle.read(f"{stem}-keys")
    own = _own(table, keys)
    return keys[own], bundle.read(f"{stem}-values")[own]


def _there(bundle: Bundle, name: str) -> _Ints:
    return bundle.read(name) if name in bundle else np.zeros([0], np.int64)


def _noted(bundle: Bundle, name: str, keys: _Ints, value: int) -> _Ints:
    """Return the values recorded for keys, or `value` for each key if there are none."""
    noted = _there(bundle, name)
    return noted if len(noted) == len(keys) else np.full(len(keys), value, np.int64)


def _counters(bundle: Bundle, stem: str) -> list[NDArray[Any]]:
    """Return settings and counters of a Bloom filter; the importing op takes the maximum of several."""
    names = [f"{stem}-{part}" for part in BLOOM]
    if any(name not in bundle for name in names):
        return [np.zeros([0], np.int64), np.zeros([0], np.uint8)]
    return [bundle.read(name) for name in names]


def _stacked(rows: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate rows; an array without rows may have any width."""
    return np.concatenate([one for one in rows if len(one)] or list(rows[:1]))
