"""Checkpoint layout of counted tables: DeepRec's layout of EmbeddingVariables, one set of tensors per part and slot.

`<name>-keys`, `-values`, `-freqs` and `-versions` are ordered by 1000 buckets (key mod 1000), which begin at
`-partition_offset`; `-keys_filtered`, `-freqs_filtered` and `-versions_filtered` are keys that wait for admission. The
keys of a slot are `<name>/<slot>-keys`. Keys are int32 where the table's are, else int64; both are read. A part
restores its share from any number of parts: bucket b belongs to part b mod n. If a Bloom filter counts the waiting
keys, `-bloom_filters`, int64 [7], has its settings and `-bloom_counters`, uint8, its counters; a part takes the maximum
of all parts' counters.
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

#: Tensors that were read of variables in a graph, by prefix, variable and slots; names do not keep the graph alive.
_read: weakref.WeakKeyDictionary[tf.Graph, dict[Any, list[str]]] = weakref.WeakKeyDictionary()


class Rows(NamedTuple):
    """What is read for a table: its rows, waiting keys, Bloom filters, and keys and values of each slot."""

    keys: Any
    freqs: Any
    versions: Any
    values: Any
    width: Any
    waiting: tuple[Any, ...]
    #: Empty if there is no Bloom filter.
    bloom: tuple[Any, ...]
    slots: tuple[tuple[Any, Any], ...]


def saved(table: CountedTable, name: str, slots: Slots) -> dict[str, tf.Tensor]:
    """Return the tensors of a checkpoint for the table under the name `name`, all of one snapshot."""
    with table.scope("save"), table.whole_on_host():
        keys, freqs, versions, offsets, values, states, *rest = native.ops().rec_export_rows(table.handle)
        waiting, bloom = rest[:4], rest[4:]
        if table.key_dtype == tf.int32:
            keys, waiting[0] = (tf.cast(one, tf.int32) for one in (keys, waiting[0]))
        if os.environ.get("TF_EV_SAVE_FILTERED_FEATURES") == "False":
            waiting = [waiting[0][:0], waiting[1][:0], waiting[2][:0], tf.zeros_like(waiting[3])]
            bloom = [one[:0] for one in bloom]
        tensors = _named(name, keys, values, freqs, versions, offsets, waiting)
        if table.rules.bloom is not None:
            tensors |= {f"{name}-{part}": tensor for part, tensor in zip(BLOOM, bloom, strict=True)}
        # A table that was never updated has no slots yet.
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
    """Return the op that replaces the rows of `table`; `slots` gives initial values for keys without slots there.

    With `TF_EV_RESTORE_CUSTOM_DIM`, rows of another width are cut, or extended with values of a new row.
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
    """Return values and slots [n, dim] as they were saved; another width is an error."""
    del slots
    message = (
        f"the checkpoint's rows of the EmbeddingVariable `{table.table_name}` are not of width {table.dim}: create it "
        "with the dim it was saved with, or set TF_EV_RESTORE_CUSTOM_DIM=True to cut or extend them"
    )
    fits = tf.logical_or(tf.equal(tf.size(rows.keys), 0), tf.equal(rows.width, table.dim))
    with tf.control_dependencies([checked(fits, message, rows.width)]):
        return tf.reshape(rows.values, [-1, table.dim]), [tf.reshape(one, [-1, table.dim]) for _, one in rows.slots]


def _adapted(table: CountedTable, slots: Slots, rows: Rows) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Return values and slots [n, dim], cut or extended from any width."""
    width, dim = tf.maximum(rows.width, 1), table.dim

    def fitted(saved: tf.Tensor, fresh: tf.Tensor) -> tf.Tensor:
        return tf.concat([tf.reshape(saved, [-1, width])[:, :dim], fresh[:, width:]], 1)

    with tf.control_dependencies([native.ops().rec_table_reset(table.created)]):
        fresh = native.ops().rec_lookup(table.created, tf.zeros([0, dim]), rows.keys, [])
    states = [
        fitted(state, tf.fill([tf.size(keys), dim], tf.constant(start)))
        for (keys, state), start in zip(rows.slots, slots.starts, strict=True)
    ]
    return fitted(rows.values, fresh), states


def read(table: CountedTable, prefix: tf.Tensor, slots: Slots, base: str | None = None) -> Rows:
    """Return the share of `table` in the rows that the checkpoint `prefix` has for its variable, or for `base`.

    With several ranks, each gets the keys that it holds.

    Missing frequencies become those that admit a key, and missing versions -1.
    """
    return _read_share(table, prefix, slots, base or table.share[0], False)[0]


def read_increment(table: CountedTable, prefix: tf.Tensor, slots: Slots) -> tuple[Rows, tf.Tensor]:
    """Return the same for an increment, and all keys (of other parts, too) that it lists as removed."""
    return _read_share(table, prefix, slots, table.share[0], True)


@_tf_private.as_written
def _read_share(
    table: CountedTable, prefix: tf.Tensor, slots: Slots, base: str, increment: bool
) -> tuple[Rows, tf.Tensor]:
    message = (
        f"the checkpoint has no rows of the EmbeddingVariable `{base}`: restore one that was saved with it, or "
        "leave it out of the Saver"
    )
    # The parts of a variable share the tensors that were read.
    known = _read.setdefault(prefix.graph, {})
    bloom = table.rules.bloom is not None
    place = (prefix.name, base, slots.names, bloom, increment)
    if place not in known:
        share = read_parts(prefix, base, slots.names, max(1, table.rules.threshold), bloom, increment)
        known[place] = [tensor.name for tensor in share]
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
    """Return which keys belong to this part of a variable and to this rank, as bools."""
    _, part, parts = table.share
    own, held = tf.equal(shard(keys, parts), part), placements.held(keys, table.placement)
    return own if held is None else tf.logical_and(own, held)


def shard(keys: tf.Tensor, parts: int) -> tf.Tensor:
    """Return the part, out of `parts`, that each key belongs to."""
    return tf.math.floormod(tf.math.floormod(keys, BUCKETS), parts)
