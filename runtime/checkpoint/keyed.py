"""Counted tables in a checkpoint as DeepRec lays out its EmbeddingVariables: each part and each slot is by itself.

`<name>-keys`, `-values`, `-freqs` and `-versions` are in the order of 1000 buckets, key mod 1000, which begin at
`-partition_offset`; `-keys_filtered`, `-freqs_filtered` and `-versions_filtered` are keys that wait for a row. The keys
of a slot are `<name>/<slot>-keys`. A part restores its own share of whatever parts there are: bucket b lies in part
b mod n.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorflow as tf

from runtime import _tensorflow, native
from runtime.anchor import checked

if TYPE_CHECKING:
    from runtime.counted import CountedTable

__all__ = ["BUCKETS", "Rows", "Slots", "filled", "read", "restored", "saved", "shard"]

#: What is read of variables in a graph: prefix, variable, slots -> names of tensors, which keep no graph alive.
_read: weakref.WeakKeyDictionary[tf.Graph, dict[Any, list[str]]] = weakref.WeakKeyDictionary()
#: That keys are dealt to, and that are dealt to parts.
BUCKETS = 1000


class Slots(NamedTuple):
    """The optimizer of a table: its rule, the names of its slots, and what they start with."""

    rule: str = "none"
    names: tuple[str, ...] = ()
    starts: tuple[float, ...] = ()


class Rows(NamedTuple):
    """What is read of a table: of its rows, of keys that wait for one, and keys and values of each slot."""

    keys: Any
    freqs: Any
    versions: Any
    values: Any
    width: Any
    waiting: tuple[Any, ...]
    slots: tuple[tuple[Any, Any], ...]


def saved(table: CountedTable, name: str, slots: Slots) -> dict[str, tf.Tensor]:
    """Return the tensors of a checkpoint in which the table is called `name`, all of one moment."""
    with table.scope("save"):
        keys, freqs, versions, offsets, values, states, *waiting = native.ops().rec_export_rows(table.handle)
        if os.environ.get("TF_EV_SAVE_FILTERED_FEATURES") == "False":
            waiting = [waiting[0][:0], waiting[1][:0], waiting[2][:0], tf.zeros_like(waiting[3])]
        tensors = _named(name, keys, values, freqs, versions, offsets, waiting)
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
    """Return the op that replaces the rows of `table`; it also begins with `slots` where a key has none there."""
    message = (
        f"the checkpoint's rows of the EmbeddingVariable `{table.table_name}` are not {table.dim} wide: create it with "
        "the dim it was saved with"
    )
    fits = tf.logical_or(tf.equal(tf.size(rows.keys), 0), tf.equal(rows.width, table.dim))
    with tf.control_dependencies([checked(fits, message, rows.width)]):
        values = tf.reshape(rows.values, [-1, table.dim])
        states = [tf.reshape(one, [-1, table.dim]) for _, one in rows.slots]
    return native.ops().rec_import_rows(
        table.created,
        tf.constant(table.seed, tf.int64),
        rows.keys,
        rows.freqs,
        rows.versions,
        values,
        *rows.waiting,
        slot_keys=[keys for keys, _ in rows.slots],
        slot_values=states,
        optimizer=slots.rule,
        starts=slots.starts,
        tracks=table.rules.tracks,
    )


@_tensorflow.as_written
def read(table: CountedTable, prefix: tf.Tensor, slots: Slots) -> Rows:
    """Return the share of `table` in the rows that the checkpoint `prefix` has of all parts.

    Frequencies that were not saved are such that they admit a key, versions that were not are -1.
    """
    base, part, parts = table.share
    message = (
        f"the checkpoint has no rows of the EmbeddingVariable `{base}`: restore one that was saved with it, or leave "
        "it out of the Saver"
    )
    # The parts of a variable share what is read.
    known = _read.setdefault(prefix.graph, {})
    place = (prefix.name, base, slots.names)
    if place not in known:
        found = _joined(base, _loader(prefix, slots, max(1, table.rules.threshold)))
        known[place] = [tensor.name for tensor in found]
    there, keys, freqs, versions, values, width, *rest = map(prefix.graph.get_tensor_by_name, known[place])
    waiting, states = rest[:3], rest[3:]
    with tf.control_dependencies([checked(there, message, prefix)]):
        own = tf.equal(shard(keys, parts), part)
    waits = tf.equal(shard(waiting[0], parts), part)
    return Rows(
        tf.boolean_mask(keys, own),
        tf.boolean_mask(freqs, own),
        tf.boolean_mask(versions, own),
        tf.boolean_mask(tf.reshape(values, [-1, tf.maximum(width, 1)]), own),
        width,
        tuple(tf.boolean_mask(one, waits) for one in waiting),
        tuple(zip(states[::2], states[1::2], strict=True)),
    )


def shard(keys: tf.Tensor, parts: int) -> tf.Tensor:
    """Return which of so many parts has each key."""
    return tf.math.floormod(tf.math.floormod(keys, BUCKETS), parts)


class _Loader(NamedTuple):
    """Reads the tensors whose names begin with a stem, and what it gives for a stem that is not there."""

    load: Callable[[tf.Tensor], list[tf.Tensor]]
    none: list[tf.Tensor]


def _loader(prefix: tf.Tensor, slots: Slots, least: int) -> _Loader:
    """Return what reads keys, freqs, versions, values, their width, keys that wait, and keys and values of slots."""
    ids, numbers = tf.zeros([0], tf.int64), tf.zeros([0])

    def load(stem: tf.Tensor) -> list[tf.Tensor]:
        keys, values = _tensors(prefix, stem, {"keys": tf.int64, "values": tf.float32})
        freqs, versions = _first(prefix, stem, {"freqs": tf.int64, "versions": tf.int64}, [ids, ids])
        filtered = dict.fromkeys(("keys_filtered", "freqs_filtered", "versions_filtered"), tf.int64)
        waiting, counts, steps = _first(prefix, stem, filtered, [ids] * 3)
        found = [filled(freqs, keys, least), filled(versions, keys, -1), tf.reshape(values, [-1]), tf.shape(values)[-1]]
        states: list[tf.Tensor] = []
        for slot in slots.names:
            parts = {"keys": tf.int64, "values": tf.float32}
            state = _first(prefix, tf.strings.join([stem, "/", slot]), parts, [ids, numbers])
            states += [state[0], tf.reshape(state[1], [-1])]
        return [keys, *found, waiting, filled(counts, waiting, 0), filled(steps, waiting, -1), *states]

    return _Loader(load, [ids, ids, ids, numbers, tf.constant(0), ids, ids, ids, *[ids, numbers] * len(slots.names)])


def _joined(base: str, loader: _Loader) -> list[tf.Tensor]:
    """Return whether the variable `base` is there, whole or in parts, and what was read of it, one after the other.

    Datasets are what can pass over an error in a graph; the number of parts is found by trying the next one.
    """
    none = (tf.constant(False), *loader.none)

    @_tensorflow.as_written
    def recmigrate_tried(stem: tf.Tensor) -> Any:
        return _or_else(stem, lambda one: (tf.constant(True), *loader.load(one)), none)

    @_tensorflow.as_written
    def recmigrate_part(number: tf.Tensor) -> tf.Tensor:
        return tf.strings.join([base, "/part_", tf.strings.as_string(number)])

    @_tensorflow.as_written
    def recmigrate_added(before: Any, more: Any) -> tuple[tf.Tensor, ...]:
        (there, *tensors), (found, *added) = before, more
        both = zip(tensors, added, strict=True)
        return (there | found, *(tf.concat(two, 0) if two[0].shape.rank == 1 else tf.maximum(*two) for two in both))

    @_tensorflow.as_written
    def recmigrate_there(number: tf.Tensor, read: Any) -> tf.Tensor:
        return tf.equal(number, 0) | read[0]

    with tf.device("/device:CPU:0"):
        parts = tf.data.Dataset.range(BUCKETS).map(recmigrate_part)
        stems = tf.data.Dataset.from_tensors(tf.constant(base)).concatenate(parts)
        tried = stems.map(recmigrate_tried).enumerate().take_while(recmigrate_there)
        found = tried.map(_tensorflow.as_written(lambda _, read: read))
        return list(found.reduce(none, recmigrate_added))


def _or_else(name: tf.Tensor, load: Callable[[tf.Tensor], Any], none: Any) -> Any:
    """Return `load(name)`, or `none` where it fails."""
    found = tf.data.Dataset.from_tensors(name).map(_tensorflow.as_written(load)).ignore_errors()
    return found.concatenate(tf.data.Dataset.from_tensors(none)).take(1).get_single_element()


def _first(prefix: tf.Tensor, stem: tf.Tensor, parts: dict[str, tf.DType], none: list[tf.Tensor]) -> list[tf.Tensor]:
    """Return the tensors of a stem in the checkpoint, flat, or `none` where one of them is missing."""

    def load(one: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return tuple(tf.reshape(tensor, [-1]) for tensor in _tensors(prefix, one, parts))

    return list(_or_else(stem, load, tuple(none)))


def _tensors(prefix: tf.Tensor, stem: tf.Tensor, parts: dict[str, tf.DType]) -> Sequence[tf.Tensor]:
    restored: Sequence[tf.Tensor] = tf.raw_ops.RestoreV2(
        prefix=prefix,
        tensor_names=tf.stack([tf.strings.join([stem, "-", part]) for part in parts]),
        shape_and_slices=[""] * len(parts),
        dtypes=list(parts.values()),
    )
    for tensor, dtype in zip(restored, parts.values(), strict=True):
        if dtype == tf.int64:
            tensor.set_shape([None])
    return restored


def filled(given: tf.Tensor, keys: tf.Tensor, value: int) -> tf.Tensor:
    """Return what was noted of the keys, or if nothing was `value` for each."""
    return tf.cond(
        tf.equal(tf.size(given), tf.size(keys)),
        lambda: given,
        lambda: tf.fill(tf.shape(keys), tf.constant(value, tf.int64)),
    )
