"""Lets the ops of a live graph that divide ids into buckets give wide ids, which tell their buckets."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE
from rewriter.apply.edges import edit_input
from rewriter.graph.view import Use
from rewriter.plan.buckets import Bucketing, Readers
from rewriter.plan.comparisons import BOUNDS
from rewriter.plan.plan import InputEdit
from rewriter.plan.vocabularies import FINDS

__all__ = ["widen"]


def widen(graph: tf.Graph, bucketings: Sequence[Bucketing], readers: Readers, undo: contextlib.ExitStack) -> None:
    """Let all readers of the buckets read wide ids: hashes and numbers modulo a multiple of the buckets.

    The `readers` are those of wide ids, also of those that datasets compute.
    """
    for bucketing in bucketings:
        old = graph.get_operation_by_name(bucketing.op)
        with graph.as_default(), tf.name_scope(f"{SCOPE}wide/"), _tf_private.control_flow_of(old):
            wide = _wide(old, bucketing)
        for use in bucketing.uses:
            edit_input(graph, InputEdit(use, str(bucketing.output), wide.name), wide, undo)
    for name in readers.gradients:
        _by_position(graph, name, undo)
    for use in readers.compared:
        _replace(graph, use, tf.zeros_like, undo)
    for use in readers.bounds:
        _replace(graph, use, functools.partial(_no_bound, graph.get_operation_by_name(use.op).type), undo)


def _no_bound(kind: str, bound: tf.Tensor) -> tf.Tensor:
    return tf.constant(BOUNDS[kind], bound.dtype)


def _replace(graph: tf.Graph, use: Use, change: Callable[[tf.Tensor], tf.Tensor], undo: contextlib.ExitStack) -> None:
    """Let an op read something else, which is computed of what it reads."""
    op = graph.get_operation_by_name(use.op)
    old = op.inputs[use.input]
    with graph.as_default(), tf.name_scope(f"{SCOPE}wide/"), _tf_private.control_flow_of(op), tf.device(op.device):
        new = change(old)
    edit_input(graph, InputEdit(use, old.name, new.name), new, undo)


def _by_position(graph: tf.Graph, name: str, undo: contextlib.ExitStack) -> None:
    """Let the gradient of a pooled lookup number the ids of the batch, as wide ids are no rows of the variable."""
    op = graph.get_operation_by_name(name)
    ids, uses = op.inputs[1], [(user, list(user.inputs)) for user in op.outputs[1].consumers()]
    with graph.as_default(), tf.name_scope(f"{SCOPE}wide/"), _tf_private.control_flow_of(op), tf.device(op.device):
        count = tf.size(ids)
        positions = tf.range(tf.cast(count, ids.dtype))
        found = tf.gather(ids, op.outputs[1])
    edit_input(graph, InputEdit(Use(name, 1), ids.name, positions.name), positions, undo)
    edit_input(graph, InputEdit(Use(name, 3), op.inputs[3].name, count.name), count, undo)
    for user, inputs in uses:
        for number, tensor in enumerate(inputs):
            if tensor is op.outputs[1]:
                edit_input(graph, InputEdit(Use(user.name, number), tensor.name, found.name), found, undo)


def _wide(old: tf.Operation, bucketing: Bucketing) -> tf.Tensor:
    """Build the op again beside the old one, with the largest multiple of its buckets that 63 bits hold."""
    name = bucketing.op.rpartition("/")[2]
    with tf.device(old.device), tf.control_dependencies(old.control_inputs):
        if old.type in FINDS:
            return _found(old, bucketing, name)
        if old.type == "FloorMod":
            wide = tf.math.floormod(old.inputs[0], bucketing.layout.widest, name)
        else:
            wide = _hashed(old, bucketing, name)
        return wide + bucketing.added if bucketing.added else wide


def _found(old: tf.Operation, bucketing: Bucketing, name: str) -> tf.Tensor:
    """Look words up; one that the vocabulary does not have gets its hash as its id."""
    handle, words, other = old.inputs
    none = tf.constant(other.dtype.min, other.dtype)
    ids = tf.raw_ops.LookupTableFindV2(table_handle=handle, keys=words, default_value=none, name=name)
    if words.dtype == tf.string:
        wide = tf.strings.to_hash_bucket_fast(words, bucketing.layout.widest)
    else:
        wide = tf.math.floormod(tf.cast(words, tf.int64), bucketing.layout.widest)
    return tf.where(tf.equal(ids, none), wide + bucketing.added, ids)


def _hashed(old: tf.Operation, bucketing: Bucketing, name: str) -> tf.Tensor:
    """Build an op that hashes again."""
    node = tf.compat.v1.NodeDef()
    node.CopyFrom(old.node_def)
    node.name = "op"
    node.attr["num_buckets"].i = bucketing.layout.widest
    definition = tf.compat.v1.GraphDef(versions=old.graph.graph_def_versions)
    del node.input[:]
    placeholders = {}
    for number, tensor in enumerate(old.inputs):
        definition.node.add(name=f"in{number}", op="Placeholder").attr["dtype"].type = tensor.dtype.as_datatype_enum
        node.input.append(f"in{number}")
        placeholders[f"in{number}:0"] = tensor
    definition.node.append(node)
    (wide,) = tf.graph_util.import_graph_def(definition, placeholders, [f"op:{bucketing.output.output}"], name=name)
    wide.set_shape(old.outputs[bucketing.output.output].shape)
    return wide
