"""Increments of counted tables in DeepRec's layout: `<name>-sparse_incr_keys` and others.

An increment holds all rows that were added or changed since its complete checkpoint (however many increments are in
between), the removed keys, and all data of waiting keys; slots are separate tables, as in DeepRec.
`<name>-incr_partition_offset` says where each bucket begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from runtime import _tf_private, native
from runtime.embedding_variable import checkpoint_layout
from runtime.embedding_variable.checkpoint_layout import Rows
from runtime.embedding_variable.checkpoint_reader import BLOOM, BUCKETS, INCREMENT, filled
from runtime.embedding_variable.counted_anchor import CountedAnchor
from runtime.embedding_variable.counted_table import Slots
from runtime.ranks.process_group import refuse_a_part

_v1: Any = tf.compat.v1
_KEPT = ("keys", "freqs", "versions", "values")
_WAITING = ("keys_filtered", "freqs_filtered", "versions_filtered")


class ChangedRows(_tf_private.SaveableObject):  # type: ignore[misc]
    """The increment of one table, compared with a baseline that is fed.

    `noted` is the next baseline: keys int64 [n] and fingerprints int64 [n] of the rows that a complete checkpoint has.
    """

    optional_restore = False

    def __init__(self, anchor: CountedAnchor, whole: tf.Tensor, complete: tf.Tensor) -> None:
        """Create the ops.

        Args:
            anchor: the table's anchor.
            whole: prefix of the complete checkpoint that a restore begins with.
            complete: bool scalar; whether the increment to restore has every row, so that it replaces all rows.

        Raises:
            RanksError: the rows are distributed over several ranks.
        """
        refuse_a_part(anchor.table.table_name)
        self.anchor, self._whole, self._complete = anchor, whole, complete
        table, name, slots = anchor.table, anchor.table.table_name, anchor.table.slots
        with tf.control_dependencies(None), table.scope("increment"):
            self._before = [_v1.placeholder(tf.int64, [None], name=part) for part in ("keys", "fingerprints")]
            keys, prints = _compared({spec.name: spec.tensor for spec in anchor.specs}, name, slots, self._before)[2:]
            self.noted = (keys, prints)
            # Unlike a complete checkpoint, which first drops rows.
            now = checkpoint_layout.saved(table, name, slots)
            changed, gone, *_ = _compared(now, name, slots, self._before)
            tensors = _increment(now, name, slots, changed) | {f"{name}-{INCREMENT}removed": gone}
        specs = [_tf_private.SaveSpec(tensor, "", part, device=anchor.device) for part, tensor in tensors.items()]
        super().__init__(anchor, specs, f"{name}-{INCREMENT}rows")

    def feeds(self, baseline: tuple[Any, Any] | None) -> dict[Any, Any]:
        """Return what to feed in order to save the changes since `baseline`; with None, every row counts as changed."""
        return dict(zip(self._before, baseline or ([], []), strict=True))

    def read_all(self, prefix: tf.Tensor) -> list[tf.Tensor]:
        """Return the rows of the complete checkpoint with the changes of the increment `prefix`."""
        table, source = self.anchor.table, self.anchor.source
        with table.scope("restore"):
            if source is not None:  # as in every restore
                rows = checkpoint_layout.read(table, tf.constant(source[0]), table.slots, source[1])
            else:
                before = _unless(self._complete, checkpoint_layout.read(table, self._whole, table.slots))
                rows = _merged(before, *checkpoint_layout.read_increment(table, prefix, table.slots))
        flat: list[tf.Tensor] = tf.nest.flatten(rows)
        return [*flat, *[tf.zeros([0])] * (len(self.specs) - len(flat))]

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: Any) -> tf.Operation:
        """Replace the rows by the result of `read_all`."""
        return self.anchor.replaced(self.anchor.packed(restored_tensors))


def _compared(tensors: Mapping[str, tf.Tensor], name: str, slots: Slots, before: list[tf.Tensor]) -> tuple[Any, ...]:
    """Return positions of changed rows, removed keys, and the new baseline's keys and fingerprints."""
    keys, values = tf.cast(tensors[f"{name}-keys"], tf.int64), tensors[f"{name}-values"]
    # Bits are compared: a counted row has changed even if its gradient was zero.
    noted = [filled(tensors[f"{name}-{part}"], keys, -1) for part in ("freqs", "versions")]
    states = [tensors[f"{name}/{slot}-values"] for slot in slots.names]
    beside = tf.concat([*(tf.bitcast(one, tf.float32) for one in noted), *states], 1)
    changed, gone, prints = native.ops().rec_changed_rows(keys, values, beside, *before)
    return changed, gone, keys, prints


def _increment(tensors: Mapping[str, tf.Tensor], name: str, slots: Slots, changed: tf.Tensor) -> dict[str, tf.Tensor]:
    """Return the tensors of an increment."""
    whole = [part for part in (*_WAITING, *BLOOM) if f"{name}-{part}" in tensors]
    everywhere = {f"{name}-{INCREMENT}{part}": tensors[f"{name}-{part}"] for part in whole}
    for stem in (name, *(f"{name}/{slot}" for slot in slots.names)):
        keys = tensors[f"{stem}-keys"]
        kept = {part: _chosen(tensors[f"{stem}-{part}"], keys, changed) for part in _KEPT}
        everywhere |= {f"{stem}-{INCREMENT}{part}": tensor for part, tensor in kept.items()}
        buckets = tf.math.floormod(tf.cast(kept["keys"], tf.int64), BUCKETS)
        offsets = tf.searchsorted(buckets, tf.range(BUCKETS + 1, dtype=tf.int64))
        everywhere[f"{stem}-incr_partition_offset"] = offsets
    return everywhere


def _chosen(tensor: tf.Tensor, keys: tf.Tensor, changed: tf.Tensor) -> tf.Tensor:
    """Return the changed rows of a tensor that has one for each key, or is empty."""
    return tf.cond(tf.equal(tf.shape(tensor)[0], tf.size(keys)), lambda: tf.gather(tensor, changed), lambda: tensor[:0])


def _unless(complete: tf.Tensor, before: Rows) -> Rows:
    """Return `before`, or none of its rows if `complete`."""

    def kept(tensor: tf.Tensor) -> tf.Tensor:
        return tensor[: tf.where(complete, 0, tf.shape(tensor)[0])]

    width = tf.where(complete, 0, before.width)
    return Rows(*tf.nest.map_structure(kept, before._replace(width=before.keys)))._replace(width=width)


def _merged(before: Rows, more: Rows, removed: tf.Tensor) -> Rows:
    """Return `before` without removed keys and keys of `more`, followed by `more`."""
    kept = tf.raw_ops.ListDiff(x=before.keys, y=tf.concat([more.keys, removed], 0)).idx

    def joined(before: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
        return tf.concat([tf.gather(before, kept), other], 0)

    # If a slot has two values for a key, the last one counts.
    slots = tuple(
        (tf.concat([one[0], other[0]], 0), tf.concat([one[1], other[1]], 0))
        for one, other in zip(before.slots, more.slots, strict=True)
    )
    return Rows(
        joined(before.keys, more.keys),
        joined(before.freqs, more.freqs),
        joined(before.versions, more.versions),
        joined(before.values, more.values),
        tf.maximum(before.width, more.width),
        more.waiting,
        more.bloom,
        slots,
    )
