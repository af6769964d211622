"""Lets the ops of a live graph that divide ids into buckets give wide ids, which tell their buckets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE
from rewriter.apply.edges import edit_input
from rewriter.graph.view import Use
from rewriter.plan.buckets import Bucketing
from rewriter.plan.plan import InputEdit

__all__ = ["wide_buckets", "widen"]


def wide_buckets(buckets: int) -> int:
    """Return the largest multiple of buckets that 63 bits hold."""
    return buckets * ((2**63 - 1) // buckets)


def widen(graph: tf.Graph, found: Sequence[Bucketing], gradients: Iterable[str], undo: contextlib.ExitStack) -> None:
    """Let all readers of the buckets read wide ids: hashes modulo a multiple of the buckets, or undivided numbers.

    The `gradients` are those of pooled lookups of wide ids, also of those that datasets compute.
    """
    for one in found:
        old = graph.get_operation_by_name(one.op)
        with graph.as_default(), tf.name_scope(f"{SCOPE}wide/"), _tf_private.control_flow_of(old):
            wide = _wide(old, one)
        for use in one.uses:
            edit_input(graph, InputEdit(use, str(one.output), wide.name), wide, undo)
    for name in gradients:
        _by_position(graph, name, undo)


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


def _wide(old: tf.Operation, one: Bucketing) -> tf.Tensor:
    """Build the op again beside the old one, with the largest multiple of its buckets that 63 bits hold."""
    with tf.device(old.device), tf.control_dependencies(old.control_inputs):
        if old.type == "FloorMod":
            return tf.identity(old.inputs[0], name=one.op.rpartition("/")[2])
        node = tf.compat.v1.NodeDef()
        node.CopyFrom(old.node_def)
        node.name = "op"
        node.attr["num_buckets"].i = wide_buckets(one.buckets)
        definition = tf.compat.v1.GraphDef(versions=old.graph.graph_def_versions)
        del node.input[:]
        given = {}
        for number, tensor in enumerate(old.inputs):
            definition.node.add(name=f"in{number}", op="Placeholder").attr["dtype"].type = tensor.dtype.as_datatype_enum
            node.input.append(f"in{number}")
            given[f"in{number}:0"] = tensor
        definition.node.append(node)
        (wide,) = tf.graph_util.import_graph_def(
            definition, given, [f"op:{one.output.output}"], name=one.op.rpartition("/")[2]
        )
        wide.set_shape(old.outputs[one.output.output].shape)
        return wide
