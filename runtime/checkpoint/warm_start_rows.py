"""Lets a table begin with rows of a checkpoint, of a table or of a variable there, also by another vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.presence import restored
from runtime.table.anchor import GraphAnchor, no_variable


@dataclass(frozen=True)
class Vocabulary:
    """What `tf.estimator.VocabInfo` says: files with a word in each line, and how many of these count."""

    new: str
    new_size: int
    old: str
    old_size: int
    buckets: int
    missing: Any
    axis: int


def is_replaced(tensor: str, shapes: Mapping[str, Any]) -> bool:
    """Whether the checkpoint has a table in place of the variable of this name, marked by a scalar string."""
    return shapes.get(tensor) == [] and f"{tensor}-keys" in shapes


def start_from_variable(anchor: GraphAnchor, path: str, name: str, shapes: Mapping[str, Any]) -> None:
    """Let the init op fill a table that replaced a variable with the rows of a variable of an ordinary checkpoint.

    Raises:
        CheckpointError: the variable there has another shape.
    """
    assert anchor.stands_for is not None and anchor.reader is not None
    shape = list(anchor.stands_for.shape)
    if shapes[name] != shape:
        raise CheckpointError(
            f"`{name}` of {path} has shape {shapes[name]}, but the model's `{anchor.table.table_name}` has {shape}: "
            "give a checkpoint of this model, or a vocabulary by tf.estimator.VocabInfo"
        )
    with tf.control_dependencies(None), tf.device("/device:CPU:0"):
        if anchor.with_slots:
            rows = anchor.reader(tf.constant(Bundle(path).path), tf.constant(False))[1:]
        else:
            keys, values = _rows(Bundle(path), name, anchor.table.dim)
            rows = anchor.table.own_of_checkpoint(anchor.rows_alone(keys + anchor.table.first_key, values))
        anchor.start_by(anchor.restore([anchor.like, *rows], None))


def start_by_vocabulary(
    variables: list[Any], path: str, name: str | None, vocabulary: Vocabulary, shapes: Mapping[str, Any]
) -> bool:
    """Let a table among the variables begin with the rows that words have in a checkpoint; return whether it is one.

    A word that the checkpoint does not have, and the rows of words in no vocabulary, begin as `missing` says.

    Raises:
        CheckpointError: the checkpoint has a table and this graph a variable, or the vocabulary does not fit.
    """
    anchor = variables[0]
    if not isinstance(anchor, GraphAnchor):
        if name is not None and is_replaced(name, shapes):
            raise CheckpointError(f"{path}: {no_variable(name)}, before the warm start")
        return False
    table, count = anchor.table.whole, vocabulary.new_size + vocabulary.buckets
    name = table.table_name if name is None or name == anchor.op.name else name
    known = anchor.stands_for is None or anchor.stands_for.shape == (count, table.dim)
    if vocabulary.axis != 0 or not known:
        raise CheckpointError(
            f"the vocabulary of `{table.table_name}` in the warm start from {path} must number its rows: give "
            "VocabInfo with axis=0, and new_vocab_size + num_oov_buckets as many as the variable has rows"
        )
    with tf.control_dependencies(None), tf.device("/device:CPU:0"):
        keys, values = _rows(Bundle(path), name, table.dim)
        known_rows, there = _by_words(keys, values, vocabulary)
        missing = vocabulary.missing or tf.compat.v1.zeros_initializer()
        first = missing([count, table.dim], dtype=tf.float32)
        rows = tf.concat(
            [tf.where(there[:, None], known_rows, first[: vocabulary.new_size]), first[vocabulary.new_size :]], 0
        )
        ids = tf.range(count, dtype=tf.int64) + table.first_key
        for part in (one.table for one in table.variables):
            own = part.own_of_checkpoint(anchor.rows_alone(ids, rows))
            part.variable.start_by(part.variable.restore([anchor.like, *own], None))
    return True


def _by_words(keys: tf.Tensor, values: tf.Tensor, vocabulary: Vocabulary) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the row of each word of the new vocabulary, and whether there is one."""
    old, _ = tf.raw_ops.GenerateVocabRemapping(
        new_vocab_file=vocabulary.new,
        old_vocab_file=vocabulary.old,
        new_vocab_offset=0,
        num_new_vocab=vocabulary.new_size,
        old_vocab_size=vocabulary.old_size,
    )
    # A row behind the last key keeps the search inside.
    order = tf.argsort(keys)
    ordered = tf.concat([tf.gather(keys, order), [np.iinfo(np.int64).max]], 0)
    values = tf.concat([tf.gather(values, order), tf.zeros([1, values.shape[1]])], 0)
    at = tf.searchsorted(ordered, old)
    return tf.gather(values, at), tf.equal(tf.gather(ordered, at), old) & (old >= 0)


def _rows(bundle: Bundle, name: str, dim: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return keys [n] and values [n, dim] of a table in a checkpoint, or of a variable, whose row i has key i."""
    if f"{name}-keys" in bundle.shapes:
        keys, values = restored(bundle.path, [f"{name}-keys", f"{name}-values"], [tf.int64, tf.float32])
    else:
        (values,) = restored(bundle.path, [name], [tf.float32])
        keys = tf.range(tf.shape(values, tf.int64)[0])
    return tf.ensure_shape(keys, [None]), tf.reshape(values, [-1, dim])
