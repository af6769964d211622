"""Lookups of tables with rows on a device: rows come from its variables, and gradients go to the table's anchor."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _tf_private_estimator, native
from runtime.lookup import id_checks
from runtime.lookup.serving_default import Default
from runtime.table.on_device.rows import DeviceRows
from runtime.table.table import Table


def trains(table: Table, is_train: Any) -> bool:
    """Return whether a lookup inserts rows.

    Raises:
        ValueError: `is_train` is a tensor, which would need a branch.
    """
    if not isinstance(is_train, (bool, np.bool_)):
        raise ValueError(
            f"`is_train` of the table `{table.table_name}`, which has rows on a device, is {is_train!r}: give a bool, "
            "and build a lookup for each mode"
        )
    return bool(is_train) and not _tf_private_estimator.builds_without_training()


def device_rows(table: Table, keys: tf.Tensor, is_train: Any, default: Default | None = None) -> tf.Tensor:
    """Return the rows of keys, [*keys.shape, dim], on the table's device; as `sparse_rows` of other tables."""
    keys = id_checks.wide(keys)
    if trains(table, is_train):
        rows, places = _of(table).trained(keys)
        id_checks.recorded([table], places)
        return _with_gradient(table, keys, rows, None)
    elsewhere = native.ops().rec_lookup(table.handle, table.variable.tensor(), keys, [])
    id_checks.recorded([table], elsewhere)
    rows = _with_gradient(table, keys, _of(table).read(keys, elsewhere), None)
    if default is None:
        return rows
    known = native.ops().rec_contains(table.handle, keys)
    with tf.device(rows.device):
        return default.where_missing(known, rows)


def admitted_rows(table: Table, keys: tf.Tensor, rows: tf.Tensor, admitted: tf.Tensor, is_train: Any) -> tf.Tensor:
    """Return the rows of admitted keys, [*keys.shape, dim], on the table's device; for others, buckets' rows or zeros.

    The host has counted the keys of a training lookup and inserted the admitted ones; `rows` are its rows.
    """
    keys = id_checks.wide(keys)
    if trains(table, is_train):
        with tf.control_dependencies([rows]):
            trained, places = _of(table).trained(keys, admitted, rows if table.has_base else None)
        id_checks.recorded([table], places)
    else:
        trained = _of(table).read(keys, rows)
    return _with_gradient(table, keys, trained, admitted)


def counted_rows(table: Table, keys: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Return the rows of keys, [*keys.shape, dim], on the device of a table whose updates create keys.

    The host has read `rows`; those of keys that have one in the table come to the device.
    """
    keys = id_checks.wide(keys)
    with tf.control_dependencies([rows]):
        known = native.ops().rec_tier_of(table.handle, keys) >= 0
        trained, places = _of(table).trained(keys, known, rows)
    id_checks.recorded([table], places)
    return _with_gradient(table, keys, trained, None)


def current_rows(table: Table, keys: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Return the rows of int64 keys, on the table's device: those that lie there, else `rows`, which the host read."""
    return _of(table).read(keys, rows)


def _of(table: Table) -> DeviceRows:
    assert table.on_device is not None
    return table.on_device


def _with_gradient(table: Table, keys: tf.Tensor, rows: tf.Tensor, admitted: tf.Tensor | None) -> tf.Tensor:
    """Return the rows, whose gradient is that of the anchor at the keys, or at those that are admitted."""
    with tf.device("/device:CPU:0"):
        flat = tf.reshape(keys, [-1])
        kept = None if admitted is None else tf.reshape(tf.where(tf.reshape(admitted, [-1])), [-1])
        indices = flat if kept is None else tf.gather(flat, kept)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def of_anchor(rows: tf.Tensor, anchor: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> tuple[None, tf.IndexedSlices]:
            with tf.device(rows.device):
                values = tf.reshape(upstream, [-1, table.dim])
                values = values if kept is None else tf.gather(values, kept)
            with tf.device("/device:CPU:0"):
                return None, tf.IndexedSlices(values, indices, tf.shape(anchor))

        return tf.identity(rows), gradient

    with tf.device(rows.device):
        result: tf.Tensor = of_anchor(rows, table.variable.tensor())
        return result
