"""Lookups of counted tables, read-only unless their rules say otherwise: ids of any type to keys, keys to rows."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, native
from runtime.embedding_variable import checkpoint_layout
from runtime.embedding_variable.counted_table import CountedTable
from runtime.lookup import id_checks, on_device
from runtime.ranks import placements
from runtime.ranks.fused_exchange import Request, handles_of, rows_of_all
from runtime.ranks.messages import Bags
from runtime.table import control_dependencies
from runtime.table.clusters.served import rows_of_parts


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


def lookup(tables: Sequence[CountedTable], keys: tf.Tensor) -> tf.Tensor:
    """Return the rows, float32 keys.shape + [dim], of int64 keys of any shape, each from the table of its bucket.

    With several ranks, each row comes from the rank that holds it.
    """
    return lookup_all([(tables, keys)])[0]


def lookup_begun(tables: Sequence[CountedTable], keys: tf.Tensor, starts: tf.Tensor) -> tf.Tensor:
    """Return the rows of int64 keys [n]; a key without a row reads its row of `starts` [n, dim].

    With that row it also begins, in the step that trains it, in which it is counted. Where there is a filter, keys that
    wait read what they do in any lookup. The tables' `lookups_create` must be set, so that updates only train; this
    lookup is for one process.
    """
    return _held_rows(tables, keys, starts)


@_tf_private.as_written
def lookup_all(
    lookups: Sequence[tuple[Sequence[CountedTable], tf.Tensor]], bags: Sequence[Bags | None] | None = None
) -> list[tf.Tensor]:
    """Return the result of `lookup` for each, or the sums of its bags; several ranks use a single exchange."""
    requests = [
        Request(
            keys,
            placements.BUCKETS if tables[0].parts else tables[0].placement,
            functools.partial(_held_rows, tables),
            # With counting, an update must see each occurrence of a key.
            counted=not tables[0].rules.fuses,
            dim=tables[0].dim,
            name=tables[0].table_name,
            bags=own,
            handles=handles_of(tables),
        )
        for (tables, keys), own in zip(lookups, bags or [None] * len(lookups), strict=True)
    ]
    return rows_of_parts(
        [tables if tables[0].parts else () for tables, _ in lookups],
        requests,
        lambda parts, keys: [_lookup(part, own) for part, own in zip(parts, keys, strict=True)],
        lambda numbers: rows_of_all([requests[i] for i in numbers]),
    )


def _held_rows(tables: Sequence[CountedTable], keys: tf.Tensor, starts: tf.Tensor | None = None) -> tf.Tensor:
    """Return the rows of keys that this process holds; with `starts` as in `lookup_begun`."""
    if len(tables) == 1:
        return _lookup(tables[0], keys, starts)
    flat = tf.reshape(keys, [-1])
    part = tf.cast(checkpoint_layout.shard(flat, len(tables)), tf.int32)
    own = tf.dynamic_partition(flat, part, len(tables))
    places = tf.dynamic_partition(tf.range(tf.size(flat)), part, len(tables))
    begun = [None] * len(tables) if starts is None else tf.dynamic_partition(starts, part, len(tables))
    rows = [_lookup(table, some, first) for table, some, first in zip(tables, own, begun, strict=True)]
    shape = tf.concat([tf.shape(keys), [tables[0].dim]], 0)
    shaped = tf.reshape(tf.dynamic_stitch(places, rows), shape)
    id_checks.set_shape(shaped, keys, tables[0].dim)
    return shaped


def _lookup(table: CountedTable, keys: tf.Tensor, starts: tf.Tensor | None = None) -> tf.Tensor:
    table.require_here()
    creates = table.rules.lookups_create
    with tf.device("/device:CPU:0"), id_checks.movable([table], not creates):  # datasets may look up what only reads
        if table.rules.threshold > 0:
            rows = native.ops().rec_lookup_permitted(
                table.handle, table.variable.tensor(), keys, refused=table.rules.refused
            )
        else:
            anchor = table.variable
            rows = native.ops().rec_lookup(table.handle, anchor.reference(), keys, [anchor.like])
        id_checks.with_gradient([table], True)
        id_checks.recorded([table], rows)
        rows = table.variable.trained(rows)
        if starts is not None:
            rows = _begun(table, keys, rows, starts)
        elif creates:
            rows = _then_created(table, keys, rows)
        if table.on_device is not None:
            rows = on_device.counted_rows(table, keys, rows)
    id_checks.set_shape(rows, keys, table.dim)
    return rows


def _then_created(table: CountedTable, keys: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Return the rows, after which the keys are counted and created: an occurrence does not admit its own key."""
    in_graph = rows.graph is table.graph
    if in_graph:  # a later lookup of the step sees what an earlier one has counted, in every run
        control_dependencies.admission_added(rows.op, table.admissions)
    with tf.control_dependencies([rows]):
        created = table.created_by_lookup(tf.cast(keys, tf.int64))
    id_checks.recorded([table], created)
    if in_graph:
        table.admissions.append(created.op)
    with tf.control_dependencies([created]):
        return tf.identity(rows)


def _begun(table: CountedTable, keys: tf.Tensor, rows: tf.Tensor, starts: tf.Tensor) -> tf.Tensor:
    """Return the rows, or `starts` for keys without one; the gradient's op creates these."""
    known = native.ops().rec_tier_of(table.handle, keys) >= 0

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def chosen(rows: tf.Tensor) -> Any:
        read = rows if table.rules.threshold > 0 else tf.where(known[:, None], rows, starts)

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            with tf.device("/device:CPU:0"), tf.control_dependencies([read, known]):
                counted = table.created_by_lookup(keys)
            with tf.device("/device:CPU:0"), tf.control_dependencies([counted]):
                new = tf.logical_and(native.ops().rec_tier_of(table.handle, keys) >= 0, tf.logical_not(known))
                filled = native.ops().rec_table_upsert(
                    table.handle, tf.boolean_mask(keys, new), tf.boolean_mask(starts, new)
                )
            with tf.control_dependencies([filled]):
                return tf.identity(upstream)

        return read, gradient

    return chosen(rows)
