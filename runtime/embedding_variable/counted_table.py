"""Counted tables: only updates create keys, count them, admit them and record the global step.

DeepRec's EmbeddingVariable works like this. A lookup is read-only. A key starts as one of the rows of a matrix that
the init op draws.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _tf_private, native
from runtime.embedding_variable import checkpoint_layout
from runtime.embedding_variable.checkpoint_reader import BLOOM, filled
from runtime.lookup import id_checks
from runtime.optimizers import stock
from runtime.policy import eviction
from runtime.policy.admission import CountingBloom
from runtime.ranks.fused_exchange import Request, handles_of, rows_of_all
from runtime.ranks.messages import Bags
from runtime.ranks.process_group import why_not_a_part
from runtime.table.anchor import Anchor, GraphAnchor, checked
from runtime.table.arguments import TableArguments
from runtime.table.table import Table


@dataclass(frozen=True)
class UpdateRules:
    """What updates record about their keys, and which rows are dropped from a checkpoint."""

    #: Occurrences in gradients, duplicates included, after which a key gets a row; 0: at once.
    threshold: int = 0
    #: Counts keys without a row by a Bloom filter instead of exact counters.
    bloom: CountingBloom | None = None
    #: The value read for keys that wait for admission, if there is a threshold.
    refused: float = 0.0
    #: Whether to count keys if there is no threshold.
    counts: bool = False
    #: Whether to record the global step.
    notes_step: bool = False
    #: Saving drops rows that were not updated for more steps than this.
    steps_to_live: int | None = None
    #: Saving drops rows with a half squared norm below this.
    least_norm: float | None = None

    @property
    def tracks(self) -> bool:
        """Whether updates record anything."""
        return self.threshold > 0 or self.counts or self.notes_step

    @property
    def filter_settings(self) -> dict[str, Any]:
        """The Bloom filter as attributes of an op; empty without one."""
        if self.bloom is None:
            return {}
        return {
            "bloom_elements": self.bloom.max_element_size,
            "bloom_rate": self.bloom.false_positive_probability,
            "bloom_bits": self.bloom.counter_bits,
        }


class CountedTable(Table):
    """A table of a v1 graph with `UpdateRules`; rows start as rows of the matrix [n, dim] from `initial_rows`."""

    reads_each_step = True

    def __init__(
        self,
        arguments: TableArguments,
        rules: UpdateRules,
        initial_rows: Callable[[], tf.Tensor],
        anchor: Callable[[CountedTable], CountedAnchor],
        share: tuple[str, int, int] | None = None,
    ) -> None:
        """Create handle and anchor in the current graph; a key starts as row floor-mod(key, n) of the matrix.

        `share` is (name of the partitioned variable, number of this part, number of parts).
        """
        self.share = share or (arguments.name, 0, 1)
        #: Slots of the optimizer that trains the table.
        self.slots = checkpoint_layout.Slots()
        self.rules = rules
        self.initial_rows = initial_rows
        self._make_anchor = anchor
        super().__init__(arguments)

    def _anchor(self) -> GraphAnchor:
        return self._make_anchor(self)

    def updated(self, keys: tf.Tensor, gradients: tf.Tensor, hyper: tf.Tensor, **settings: Any) -> tf.Operation:
        """Count the keys [n], create admitted ones, and update their rows by gradients [n, dim]."""
        if not self.rules.tracks:
            return super().updated(keys, gradients, hyper, **settings)
        now = tf.reshape(global_step(), [1]) if self.rules.notes_step else tf.zeros([0], tf.int64)
        threshold = max(1, self.rules.threshold)  # the engine counts nothing at 0
        return native.ops().rec_apply_and_count(
            self.handle, keys, gradients, hyper, now, threshold=threshold, **self.rules.filter_settings, **settings
        )

    def sightings(self, keys: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Return for each key the number of counted occurrences (or 0) and the global step of the last one (or -1)."""
        with self.scope("sightings"):
            counts, steps = native.ops().rec_sightings(self.handle, tf.cast(keys, tf.int64))
            return counts, steps

    def known_keys(self) -> tf.Tensor:
        """Return the number of keys with a row or waiting for one, as an int64 scalar."""
        with self.scope("known_keys"):
            return native.ops().rec_table_size(self.handle) + native.ops().rec_table_waiting(self.handle)

    def dropped(self) -> list[tf.Operation]:
        """Return ops that drop the rows that checkpoints must not contain."""
        rules, ops = self.rules, []
        if rules.steps_to_live is not None:
            with self.scope("steps_to_live"):
                step = global_step()
                # With no key, this only makes sure that there is a time to compare with before the first update.
                counted, _ = native.ops().rec_lookup_and_admit(
                    self.handle, self.variable.tensor(), tf.zeros([0], tf.int64), tf.reshape(step, [1]), threshold=1
                )
            with tf.control_dependencies([counted]):
                ops.append(eviction.evict_by_step(self, rules.steps_to_live, step).op)
        if rules.least_norm is not None:
            ops.append(eviction.evict_by_norm(self, rules.least_norm).op)
        return ops


class CountedAnchor(GraphAnchor):
    """The anchor of a `CountedTable`; stock v1 optimizers train it."""

    table: CountedTable
    _saved_with: tuple[str, ...] = ()
    #: (path of a checkpoint, name there) if every restore must take the rows from there instead.
    source: tuple[str, str] | None = None

    @property
    def constraint(self) -> None:
        """Always None."""
        return None

    @property
    def specs(self) -> list[_tf_private.SaveSpec]:
        """The tensors that a Saver writes, including the slots of the optimizer that trains the table."""
        slots = self.table.slots.names
        if self._saved_with != slots:
            self._save_specs, self._saved_with = None, slots
        return super().specs

    def saved(self, name: str) -> dict[str, tf.Tensor]:
        """Return new tensors to save, after rows were dropped."""
        with tf.control_dependencies(self.table.dropped()):
            return checkpoint_layout.saved(self.table, name, self.table.slots)

    def read_all(self, prefix: tf.Tensor) -> list[tf.Tensor]:
        """Return the table's share of all parts in a checkpoint, as a flat list that matches `specs`."""
        with self.table.scope("restore"):
            path, name = self.source or (None, None)
            rows = checkpoint_layout.read(
                self.table, prefix if path is None else tf.constant(path), self.table.slots, name
            )
        flat = tf.nest.flatten(rows)
        return [*flat, *[tf.zeros([0])] * (len(self.specs) - len(flat))]

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: list[tf.TensorShape] | None) -> tf.Operation:
        """Replace the rows by the result of `read_all`."""
        refused = why_not_a_part(self.table.table_name)
        if refused:
            return checked(tf.constant(False), refused, tf.constant(0))
        return self.replaced(self.packed(restored_tensors))

    def packed(self, tensors: Sequence[tf.Tensor]) -> checkpoint_layout.Rows:
        """Return the rows in the first of these flat tensors, in the order of `tf.nest.flatten`."""
        counted = () if self.table.rules.bloom is None else (0, 0)
        like = checkpoint_layout.Rows(0, 0, 0, 0, 0, (0, 0, 0), counted, ((0, 0),) * len(self.table.slots.names))
        rows: checkpoint_layout.Rows = tf.nest.pack_sequence_as(like, tensors[: len(tf.nest.flatten(like))])
        return rows

    def restore_tensors(self, restored: dict[str, tf.Tensor]) -> tf.Operation:
        """Replace the rows by those of a tf.train.Checkpoint."""

        def history(part: str, key: str, value: int) -> tf.Tensor:
            return filled(restored[part], restored[key], value)

        threshold, keys = max(1, self.table.rules.threshold), restored["keys"]
        waiting = tuple(
            history(part, "keys_filtered", value)
            for part, value in (("keys_filtered", 0), ("freqs_filtered", 0), ("versions_filtered", -1))
        )
        bloom = () if self.table.rules.bloom is None else tuple(restored[part] for part in BLOOM)
        slots = tuple((restored[f":{name}-keys"], restored[f":{name}-values"]) for name in self.table.slots.names)
        values = restored["values"]
        freqs, versions = history("freqs", "keys", threshold), history("versions", "keys", -1)
        return self.replaced(
            checkpoint_layout.Rows(keys, freqs, versions, values, tf.shape(values)[1], waiting, bloom, slots)
        )

    def _checkpoint_key(self, spec: _tf_private.SaveSpec) -> str:
        return super()._checkpoint_key(spec).replace("/", ":")

    def replaced(self, rows: checkpoint_layout.Rows) -> tf.Operation:
        """Replace the rows; draw the matrix for further keys unless it exists."""
        with tf.control_dependencies([self._draw()]), tf.device("/device:CPU:0"):
            filled = checkpoint_layout.restored(self.table, self.table.slots, rows)
        with tf.control_dependencies([filled, self.table.filled.initializer]):
            return self.mark_initialized()

    def start_from(self, path: str, name: str) -> None:
        """Let the init op fill the table with the rows of the variable `name` in a checkpoint; slots start afresh."""
        with tf.control_dependencies(None), self.table.scope("start"):
            self.start_by(
                self.replaced(checkpoint_layout.read(self.table, tf.constant(path), checkpoint_layout.Slots(), name))
            )

    def _emptied(self) -> tf.Tensor:
        """Draw the matrix unless it exists. Like DeepRec's, the init op keeps the rows when it runs again.

        A new table is empty, so nothing has to be removed.
        """
        with tf.control_dependencies([self._draw(), self.table.filled.initializer]):
            return tf.zeros([0, self.table.dim])

    def _draw(self) -> tf.Operation:
        return native.ops().rec_initial_rows(self.table.created, self.table.initial_rows(), keep=True)


def int_keys(ids: Any) -> tf.Tensor:
    """Return ids of int32, int64 or string as int64 keys; strings are hashed.

    Raises:
        ValueError: the ids have another type.
    """
    ids = tf.convert_to_tensor(ids)
    if ids.dtype == tf.string:
        return tf.strings.to_hash_bucket_fast(ids, 2**63 - 1)
    if ids.dtype not in (tf.int32, tf.int64):
        raise ValueError(f"the ids of a counted table are {ids.dtype.name}: they must be int64, int32 or string")
    return tf.cast(ids, tf.int64)


def with_int_keys(ids: Any) -> Any:
    """Return sparse or ragged ids with values converted by `int_keys`; anything else unchanged."""
    if isinstance(ids, tf.RaggedTensor):
        return ids.with_flat_values(int_keys(ids.flat_values))
    if isinstance(ids, tf.SparseTensor):
        return tf.SparseTensor(ids.indices, int_keys(ids.values), ids.dense_shape)
    return ids


def global_step() -> tf.Tensor:
    """Return the current value of the graph's global step, created if it does not exist, as an int64 scalar."""
    with tf.init_scope():
        step = tf.compat.v1.train.get_or_create_global_step()
    # A ref variable would be read only when the consumer runs, perhaps after it was incremented.
    return tf.cast(tf.identity(step), tf.int64)


def lookup(tables: Sequence[CountedTable], keys: tf.Tensor) -> tf.Tensor:
    """Return the rows, float32 keys.shape + [dim], of int64 keys of any shape, each from the table of its bucket.

    With several ranks, each row comes from the rank that holds it.
    """
    return lookup_all([(tables, keys)])[0]


@_tf_private.as_written
def lookup_all(
    lookups: Sequence[tuple[Sequence[CountedTable], tf.Tensor]], bags: Sequence[Bags | None] | None = None
) -> list[tf.Tensor]:
    """Return the result of `lookup` for each, or the sums of its bags; several ranks use a single exchange."""
    return rows_of_all(
        [
            Request(
                keys,
                tables[0].placement,
                functools.partial(_held_rows, tables),
                # With counting, an update must see each occurrence of a key.
                distinct=not tables[0].rules.tracks,
                dim=tables[0].dim,
                name=tables[0].table_name,
                bags=own,
                handles=handles_of(tables),
            )
            for (tables, keys), own in zip(lookups, bags or [None] * len(lookups), strict=True)
        ]
    )


def _held_rows(tables: Sequence[CountedTable], keys: tf.Tensor) -> tf.Tensor:
    """Return the rows of keys that this process holds."""
    if len(tables) == 1:
        return _lookup(tables[0], keys)
    flat = tf.reshape(keys, [-1])
    part = tf.cast(checkpoint_layout.shard(flat, len(tables)), tf.int32)
    own = tf.dynamic_partition(flat, part, len(tables))
    places = tf.dynamic_partition(tf.range(tf.size(flat)), part, len(tables))
    rows = [_lookup(table, some) for table, some in zip(tables, own, strict=True)]
    shape = tf.concat([tf.shape(keys), [tables[0].dim]], 0)
    found = tf.reshape(tf.dynamic_stitch(places, rows), shape)
    id_checks.set_shape(found, keys, tables[0].dim)
    return found


def _lookup(table: CountedTable, keys: tf.Tensor) -> tf.Tensor:
    table.require_here()
    with tf.device("/device:CPU:0"), id_checks.movable([table], True):  # read-only, so datasets may look up, too
        if table.rules.threshold > 0:
            rows = native.ops().rec_lookup_permitted(
                table.handle, table.variable.tensor(), keys, refused=table.rules.refused
            )
        else:
            rows = native.ops().rec_lookup(table.handle, table.variable.tensor(), keys)
        id_checks.with_gradient([table], True)
        id_checks.recorded([table], rows)
    id_checks.set_shape(rows, keys, table.dim)
    return rows


def _is_counted(variable: Any) -> bool:
    return isinstance(variable, Anchor) and isinstance(variable.table, CountedTable)


def _update(optimizer: Any, anchor: CountedAnchor, gradient: Any) -> tf.Operation:
    form = stock.form_of(optimizer, anchor)
    names = [optimizer.get_name() + (f"_{number}" if number else "") for number in range(len(form.starts))]
    anchor.table.slots = checkpoint_layout.Slots(form.rule, tuple(names), form.starts)
    return stock.update(optimizer, anchor, gradient, form)


_tf_private.extend_optimizers(_is_counted, _update)
