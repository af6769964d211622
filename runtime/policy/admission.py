"""Admission: the lookup that counts its keys, and what all lookups of a table must agree on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.ranks.process_group import current
from runtime.table import control_dependencies
from runtime.table.admission_rules import OFF, AdmissionRules, parse
from runtime.table.table import Table, grouped

#: Collection with the scalar integer tensor of a batch's time, under Rec SDK's name.
TIMESTAMP_COLLECTION = "ASCEND_TIMESTAMP"


def rules_for(table: Table, config: Mapping[str, Any] | None, is_train: Any) -> AdmissionRules:
    """Return the rules of one more lookup of `table`, and record them in the table.

    A lookup for evaluation may omit the config if it follows another lookup of the table.

    Raises:
        ValueError: as `parse`, or the rules differ from those of the table's other lookups.
    """
    known = table.admission
    if config is None and is_train is False and known is not None:
        return known
    rules = OFF if config is None else parse(config)
    agree(table, rules)
    return rules


def agree(table: Table, rules: AdmissionRules) -> None:
    """Record the rules of a lookup of `table`.

    Raises:
        ValueError: they differ from those of the table's other lookups, or keep out keys of a table with a term.
    """
    if table.has_terms and rules.delays:
        raise ValueError(
            f"the table `{table.table_name}` has a term over all rows, so each of its keys needs a row: leave the "
            "access_threshold and access_probability out, or take a term over looked_up_rows instead"
        )
    if table.admission is None:
        for held in {table, *table.parts}:
            held.admission = rules
    elif not rules.agrees(table.admission):
        raise ValueError(
            f"the lookups of the table `{table.table_name}` have different thresholds, {_text(table.admission)} and "
            f"{_text(rules)}: give all of them the same access_and_evict_config"
        )


def _text(rules: AdmissionRules) -> str:
    if rules.access_threshold is None:
        return "no thresholds"
    filtered = "" if rules.bloom_filter is None else f" with {rules.bloom_filter}"
    if rules.access_probability != 1.0:
        filtered = f" with the probability {rules.access_probability}"
    return f"access {rules.access_threshold} and eviction {rules.eviction_threshold}{filtered}"


def counting_lookup(
    table: Table, keys: tf.Tensor, rules: AdmissionRules, config: Mapping[str, Any] | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Count `keys` and insert those that reach the threshold; return rows (zero for others) and which are admitted.

    Raises:
        ValueError: the table has eviction, but there is no timestamp.
    """
    bloom = rules.bloom_filter
    filtered = (
        {}
        if bloom is None
        else {
            "bloom_elements": bloom.max_element_size,
            "bloom_rate": bloom.false_positive_probability,
            "bloom_bits": bloom.counter_bits,
        }
    )
    now = _now(table, rules, config)
    with table.written():
        rows, admitted = native.ops().rec_lookup_and_admit(
            table.handle,
            table.variable.tensor(),
            tf.cast(keys, tf.int64),
            now,
            threshold=rules.access_threshold,
            coefficient=rules.faae_coefficient,
            probability=rules.access_probability,
            **filtered,
        )
    if table.graph is not None and rows.graph is table.graph:
        control_dependencies.admission_added(rows.op, table.admissions)
        table.admissions.append(rows.op)
    return rows, admitted


def reading_lookup(table: Table, keys: tf.Tensor, rules: AdmissionRules) -> tuple[tf.Tensor, tf.Tensor]:
    """Return rows (zero for keys that are not admitted) and which are admitted, without counting or inserting."""
    rows, admitted = native.ops().rec_lookup_admitted(
        table.handle, table.variable.tensor(), tf.cast(keys, tf.int64), threshold=rules.access_threshold
    )
    return rows, admitted


def _now(table: Table, rules: AdmissionRules, config: Mapping[str, Any] | None) -> tf.Tensor:
    """Return the batch's time as an int64 vector of length one, or an empty one if there is no timestamp."""
    timestamp = (config or {}).get("timestamp")
    if timestamp is None and table.graph is not None:
        collected = tf.compat.v1.get_collection(TIMESTAMP_COLLECTION)
        if len(collected) > 1:
            raise ValueError(
                f"the collection {TIMESTAMP_COLLECTION} holds {len(collected)} tensors: a batch must have one timestamp"
            )
        timestamp = collected[0] if collected else None
    if timestamp is None:
        if rules.eviction_threshold is not None:
            raise ValueError(
                f"the table `{table.table_name}` has an eviction_threshold but no timestamp: add the batch's timestamp "
                f"to the collection {TIMESTAMP_COLLECTION} before the lookup, or give "
                "access_and_evict_config a `timestamp`"
            )
        return tf.zeros([0], tf.int64)
    own = tf.reshape(time_scalar(timestamp), [1])
    if rules.eviction_threshold is None or current().size == 1:
        return own
    # The keys counted here come from all ranks, each with the time of its own batch.
    return tf.reduce_max(current().all_gather(own)[0], keepdims=True)


def time_scalar(time: Any) -> tf.Tensor:
    """Return a time, in seconds or steps, as an int64 scalar.

    Raises:
        ValueError: it is not an integer scalar.
    """
    tensor = tf.convert_to_tensor(time)
    if not tensor.dtype.is_integer or tensor.shape.rank not in (0, None):
        raise ValueError(f"a timestamp must be an integer scalar: got {time!r}")
    return tf.cast(tensor, tf.int64)


@_tf_private.as_written
def set_threshold(table: Table, threshold: Any) -> tf.Operation:
    """Replace the `access_threshold` of all lookups of `table` by a number above 0; 0 stops counting and keeps it.

    In a v1 graph, return an op. When the number rises, rows are kept, but keys with a smaller count read as keys
    without a row; rows that were not created by counting stay admitted. Checkpoints save the number; it applies until
    the table is emptied or restored.

    Raises:
        ValueError: the number is not an integer scalar, or is negative.
    """
    _validation.kind("table", table, Table, "a table created by create_table")
    if not tf.is_tensor(threshold):
        _validation.integer("threshold", threshold, 0)
    return grouped(
        table.in_parts(
            "set_threshold", lambda part: native.ops().rec_set_threshold(part.handle, time_scalar(threshold))
        )
    )
