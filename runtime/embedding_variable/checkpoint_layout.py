"""Counted tables in a checkpoint as DeepRec lays out its EmbeddingVariables: each part and each slot is by itself.

`<name>-keys`, `-values`, `-freqs` and `-versions` are in the order of 1000 buckets, key mod 1000, which begin at
`-partition_offset`; `-keys_filtered`, `-freqs_filtered` and `-versions_filtered` are keys that wait for a row. The keys
of a slot are `<name>/<slot>-keys`. A part restores its own share of whatever parts there are: bucket b lies in part
b mod n. Where a Bloom filter counts the keys that wait, `-bloom_filters`, int64 [7], says what it is, and
`-bloom_counters`, uint8, what it counted; a part takes the largest counters of all parts.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from runtime import _tf_private, native
from runtime._assertions import checked
from runtime.embedding_variable.checkpoint_reader import BLOOM, BUCKETS, read_parts
from runtime.embedding_variable.counted_table import CountedTable, Slots
from runtime.ranks import placements

__all__ = ["Rows", "read", "read_increment", "restored", "saved", "shard"]

#: What is read of variables in a graph: prefix, variable, slots -> names of tensors, which keep no graph alive.
_read: weakref.WeakKeyDictionary[tf.Graph, dict[Any, list[str]]] = weakref.WeakKeyDictionary()


class Rows(NamedTuple):
    """What is read of a table: of its rows, of keys that wait for one, Bloom counters, keys and values of each slot."""

    keys: Any
    freqs: Any
    versions: Any
    values: Any
    width: Any
    waiting: tuple[Any, ...]
    #: Empty where no Bloom filter counts.
    bloom: tuple[Any, ...]
    slots: tuple[tuple[Any, Any], ...]


def saved(table: CountedTable, name: str, slots: Slots) -> dict[str, tf.Tensor]:
    """Return the tensors of a checkpoint in which the table is called `name`, all of one moment."""
    with table.scope("save"):
        keys, freqs, versions, offsets, values, states, *rest = native.ops().rec_export_rows(table.handle)
        waiting, bloom = rest[:4], rest[4:]
        if os.environ.get("TF_EV_SAVE_FILTERED_FEATURES") == "False":
            waiting = [waiting[0][:0], waiting[1][:0], waiting[2][:0], tf.zeros_like(waiting[3])]
            bloom = [one[:0] for one in bloom]
        tensors = _named(name, keys, values, freqs, versions, offsets, waiting)
        if table.rules.bloom is not None:
            tensors |= {f"{name}-{part}": tensor for part, tensor in zip(BLOOM, bloom, strict=True)}
        # A table that no update has reached has no slots yet.
        there = tf.shape(states)[1]
        for number, slot in enumerate(slots.names):
            begin, dim = number * table.dim, table.dim
            start = tf.fill(tf.shape(values), tf.constant(slots.starts[number]))
            state = tf.cond(there > begin, lambda b=begin, d=dim: states[:, b : b + d], lambda s=start: s)
            none = [one[:0] if at < 3 else tf.zeros_like(one) for at, one in enumerate(waiting)]
            tensors |= _named(f"{name}/{slot}", keys, state, freqs[:0], versions[:0], offsets, none)
    return tensors


def _named(
    name: str,
    keys: tf.Tensor,
    values: tf.Tensor,
    freqs: tf.Tensor,
    versions: tf.Tensor,
    offsets: tf.Tensor,
    waiting: Sequence[tf.Tensor],
) -> dict[str, tf.Tensor]:
    tensors = {"keys": keys, "values": values, "freqs": freqs, "versions": versions, "partition_offset": offsets}
    filtered = ("keys_filtered", "freqs_filtered", "versions_filtered", "partition_filter_offset")
    tensors |= dict(zip(filtered, waiting, strict=True))
    return {f"{name}-{part}": tensor for part, tensor in tensors.items()}


def restored(table: CountedTable, slots: Slots, rows: Rows) -> tf.Operation:
    """Return the op that replaces the rows of `table`; it also begins with `slots` where a key has none there.

    With `TF_EV_RESTORE_CUSTOM_DIM` rows of another width are cut, or go on with what a new row begins with.
    """
    fit = _adapted if os.environ.get("TF_EV_RESTORE_CUSTOM_DIM", "").lower() in ("true", "1") else _required
    values, states = fit(table, slots, rows)
    return native.ops().rec_import_rows(
        table.created,
        tf.constant(table.seed, tf.int64),
        rows.keys,
        rows.freqs,
        rows.versions,
        values,
        *rows.waiting,
        *(rows.bloom or (tf.zeros([0], tf.int64), tf.zeros([0], tf.uint8))),
        slot_keys=[keys for keys, _ in rows.slots],
        slot_values=states,
        optimizer=slots.rule,
        starts=slots.starts,
        tracks=table.rules.tracks,
        **table.rules.filter_settings,
    )


def _required(table: CountedTable, slots: Slots, rows: Rows) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return values and slots [n, dim] as they were saved."""
    del slots
    message = (
        f"the checkpoint's rows of the EmbeddingVariable `{table.table_name}` are not {table.dim} wide: create it with "
        "the dim it was saved with, or set TF_EV_RESTORE_CUSTOM_DIM=True to cut them, or fill them up"
    )
    fits = tf.logical_or(tf.equal(tf.size(rows.keys), 0), tf.equal(rows.width, table.dim))
    with tf.control_dependencies([checked(fits, message, rows.width)]):
        return tf.reshape(rows.values, [-1, table.dim]), [tf.reshape(one, [-1, table.dim]) for _, one in rows.slots]


def _adapted(table: CountedTable, slots: Slots, rows: Rows) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return values and slots [n, dim], whatever their width was."""
    width, dim = tf.maximum(rows.width, 1), table.dim

    def fitted(saved: tf.Tensor, fresh: tf.Tensor) -> tf.Tensor:
        return tf.concat([tf.reshape(saved, [-1, width])[:, :dim], fresh[:, width:]], 1)

    with tf.control_dependencies([native.ops().rec_table_reset(table.created)]):
        fresh = native.ops().rec_lookup(table.created, tf.zeros([0, dim]), rows.keys)
    states = [
        fitted(state, tf.fill([tf.size(keys), dim], tf.constant(start)))
        for (keys, state), start in zip(rows.slots, slots.starts, strict=True)
    ]
    return fitted(rows.values, fresh), states


def read(table: CountedTable, prefix: tf.Tensor, slots: Slots, base: str | None = None) -> Rows:
    """Return the share of `table` in the rows that the checkpoint `prefix` has of all parts of its variable, or `base`.

    Of several ranks each gets what it is to hold.

    Frequencies that were not saved are such that they admit a key, versions that were not are -1.
    """
    return _read_share(table, prefix, slots, base or table.share[0], False)[0]


def read_increment(table: CountedTable, prefix: tf.Tensor, slots: Slots) -> tuple[Rows, tf.Tensor]:
    """Return the same of an increment, and the keys, those of other parts with them, that it says were removed."""
    return _read_share(table, prefix, slots, table.share[0], True)


@_tf_private.as_written
def _read_share(
    table: CountedTable, prefix: tf.Tensor, slots: Slots, base: str, increment: bool
) -> tuple[Rows, tf.Tensor]:
    message = (
        f"the checkpoint has no rows of the EmbeddingVariable `{base}`: restore one that was saved with it, or leave "
        "it out of the Saver"
    )
    # The parts of a variable share what is read.
    known = _read.setdefault(prefix.graph, {})
    bloom = table.rules.bloom is not None
    place = (prefix.name, base, slots.names, bloom, increment)
    if place not in known:
        found = read_parts(prefix, base, slots.names, max(1, table.rules.threshold), bloom, increment)
        known[place] = [tensor.name for tensor in found]
    there, keys, freqs, versions, values, width, *rest = map(prefix.graph.get_tensor_by_name, known[place])
    waiting, gone, rest = rest[:3], rest[3], rest[4:]
    counters, states = rest[: 2 * bloom], rest[2 * bloom :]
    with tf.control_dependencies([checked(there, message, prefix)]):
        own = _own(table, keys)
    waits = _own(table, waiting[0])
    rows = Rows(
        tf.boolean_mask(keys, own),
        tf.boolean_mask(freqs, own),
        tf.boolean_mask(versions, own),
        tf.boolean_mask(tf.reshape(values, [-1, tf.maximum(width, 1)]), own),
        width,
        tuple(tf.boolean_mask(one, waits) for one in waiting),
        tuple(counters),
        tuple(zip(states[::2], states[1::2], strict=True)),
    )
    return rows, gone


def _own(table: CountedTable, keys: tf.Tensor) -> tf.Tensor:
    """Return whether each key is of this part of a variable, and of this rank."""
    _, part, parts = table.share
    own, held = tf.equal(shard(keys, parts), part), placements.held(keys, table.placement)
    return own if held is None else tf.logical_and(own, held)


def shard(keys: tf.Tensor, parts: int) -> tf.Tensor:
    """Return which of so many parts has each key."""
    return tf.math.floormod(tf.math.floormod(keys, BUCKETS), parts)
