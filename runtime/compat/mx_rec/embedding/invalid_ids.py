"""Lookups in which id -1 is invalid: it has no row, is not counted, and reads zeros or the default."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

import runtime
from runtime._assertions import checked
from runtime.compat.mx_rec import environment
from runtime.compat.mx_rec.constants import ASCEND_SPARSE_LOOKUP_UNIQUE_KEYS, INVALID
from runtime.compat.mx_rec.ranks import rank_ids
from runtime.compat.mx_rec.state import state_of
from runtime.policy import admission
from runtime.table.admission_rules import AdmissionRules
from runtime.table.anchor import HASHTABLE_COLLECTION
from runtime.table.arguments import TableArguments
from runtime.table.create import new_table
from runtime.table.table import Table

_NAME = "mx_rec_combined_history"
_Config = dict[str, Any]


def rows_of(table: Any, ids: tf.Tensor, serving_default_value: Any = None, **settings: Any) -> tf.Tensor:
    """Return the rows of ids of any shape: float32, ids.shape + [dim]; `settings` are those of the runtime's lookup.

    Ids that are floats are cut to integers.
    """
    config, is_train = settings.pop("access_and_evict_config", None), settings.pop("is_train", True)
    keys = tf.reshape(tf.cast(ids, tf.int64) if ids.dtype.is_floating else ids, [-1])  # as tf.strings.to_number gives
    keys, config = _admitted(keys, config, is_train)
    valid = tf.not_equal(keys, tf.constant(INVALID, keys.dtype))
    shape = tf.stack([tf.size(keys), table.dim])
    default = None if serving_default_value is None else tf.broadcast_to(serving_default_value, shape)
    # A single row for all ids is sent unchanged to the rank that looks up an id.
    as_given = default is None or serving_default_value.shape.rank != 2
    valid_rows = runtime.sparse_lookup(
        table,
        tf.boolean_mask(keys, valid),
        is_train=is_train,
        access_and_evict_config=config,
        serving_default_value=serving_default_value if as_given else tf.boolean_mask(default, valid),
        **settings,
    )
    if is_train:
        valid_rows = _within_limit(table, valid_rows)
        if table.expands:  # older programs read the addresses from here; they are in the collection once anyway
            tf.compat.v1.add_to_collection(ASCEND_SPARSE_LOOKUP_UNIQUE_KEYS, table.expansions[-1][1])
    places = tf.where(valid)
    if default is None:
        rows = tf.scatter_nd(places, valid_rows, tf.cast(shape, tf.int64))
    else:
        rows = tf.tensor_scatter_nd_update(default, places, valid_rows)
    rows = tf.reshape(rows, tf.concat([tf.shape(ids), [table.dim]], 0))
    rows.set_shape(ids.shape.concatenate([table.dim]))
    return rows


def _within_limit(table: Any, rows: tf.Tensor) -> tf.Tensor:
    """Return the rows, checked to fail if the table has more rows than its limit."""
    limit = table.most_rows
    if limit is None:
        return rows
    with tf.control_dependencies([rows]):
        count = table.count()
    message = (
        f"the table `{table.table_name}` has more rows than its device_vocabulary_size, {limit} on this rank: "
        "increase it, or use init(use_dynamic_expansion=True)"
    )
    with tf.control_dependencies([checked(tf.less_equal(count, limit), message, count)]):
        return tf.identity(rows)


def _admitted(keys: tf.Tensor, config: _Config | None, is_train: bool) -> tuple[tf.Tensor, _Config | None]:
    """Return the keys, with -1 for those not seen often enough in all tables, and what the table itself counts.

    Without the switch `USE_COMBINE_FAAE`, or without a threshold above 0, both are returned unchanged. A table with
    eviction still records when it saw its own keys.
    """
    if not environment.combines_counters() or not config or (config.get("access_threshold") or -1) < 1:
        return keys, config
    rank_ids.refuse_several("USE_COMBINE_FAAE=1", "leave it out, so that each table counts its own ids")
    rules = AdmissionRules(config["access_threshold"], None, config.get("faae_coefficient") or 1)
    counter = _counter()
    if is_train:
        time = {"timestamp": config.get("timestamp")}  # the collection may have one of each mode, or the same one twice
        _, seen = admission.counting_lookup(counter, keys, rules, time)
    else:
        _, seen = admission.reading_lookup(counter, keys, rules)
    seen = tf.reshape(seen, [-1])
    evicts = config.get("eviction_threshold") not in (None, -1)
    return tf.where(seen, keys, tf.constant(INVALID, keys.dtype)), {**config, "access_threshold": 1} if evicts else None


def _counter() -> Table:
    """Return the hidden table that counts for all tables of the graph; the checkpoint's own files have it."""
    state = state_of()
    if state.counter is None:
        state.counter = new_table(TableArguments(tf.int64, 1, _NAME, tf.compat.v1.zeros_initializer(), 1, True, 1.0))
        state.counter.is_grad = False  # optimizers must not expect a gradient for it
        listed = tf.compat.v1.get_collection_ref(HASHTABLE_COLLECTION)
        listed[:] = [one for one in listed if one is not state.counter.variable]
    return state.counter
