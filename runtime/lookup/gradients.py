"""Gradients of lookups: IndexedSlices for the anchor, with keys as indices."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _tf_private, native


def _slices(gradient: tf.Tensor, keys: tf.Tensor, shaped: tf.Tensor) -> tf.IndexedSlices:
    """Return values float [n, dim] at indices int64 keys [n]; `shaped` has the shape [0, dim] of the anchor."""
    flat = isinstance(gradient, tf.Tensor) and gradient.shape.rank == 2  # that of a `tf.gather` of rows has slices
    values = gradient if flat else tf.reshape(gradient, [-1, shaped.shape.as_list()[1]])
    indices = keys if keys.dtype == tf.int64 else tf.cast(keys, tf.int64)
    indices = indices if indices.shape.rank == 1 else tf.reshape(indices, [-1])
    # The dense shape is needed because tf.cond requires equal structures from both branches.
    return tf.IndexedSlices(values, indices, tf.shape(shaped))


def _lookup_gradient(op: tf.Operation, gradient: tf.Tensor) -> list[Any]:
    """Return the gradient of the anchor, a value or a resource of the last input's shape, and None for others."""
    anchor, keys, *like = op.inputs[1:]
    slices = _slices(gradient, keys, like[0] if like else anchor)
    if anchor.dtype == tf.resource and (whole := _tf_private.handle_shape(anchor))[:1].as_list() not in ([0], [None]):
        slices = tf.IndexedSlices(slices.values, slices.indices, tf.constant(whole.as_list()))
    return [None, slices, None, *(None for _ in like)]


def _pooled_gradient(op: tf.Operation, gradient: tf.Tensor) -> list[Any]:
    """Return for the anchor one gradient per distinct key, and the gradient of the weights [n]."""
    handle, anchor, keys, layout, weights, rows, max_norm = op.inputs
    attributes = ("combiner", "splits", "weighted", "prune", "negative_keys", "fill_empty", "default_id")
    settings = {name: op.get_attr(name) for name in attributes}
    # The weights' gradient reads all rows again, and a tf.function would always compute it.
    differentiable = settings["weighted"] and getattr(getattr(weights, "op", None), "type", "") != "StopGradient"
    with tf.device("/device:CPU:0"):
        unique, sums, weight_gradients = native.ops().rec_pooled_gradient(
            handle, keys, layout, weights, rows, max_norm, gradient, weight_gradient=differentiable, **settings
        )
    slices = tf.IndexedSlices(sums, unique, tf.shape(anchor))
    return [None, slices, None, None, weight_gradients if differentiable else None, None, None]


def _pooled_group_gradient(op: tf.Operation, *gradients: tf.Tensor) -> list[Any]:
    """Return for each anchor and its weights what a pooled lookup of its own would return."""
    tables = len(gradients)
    handles, anchors, keys, layouts, weights, rows, norms = (
        op.inputs[i : i + tables] for i in range(0, 7 * tables, tables)
    )
    attributes = ("combiners", "splits", "weighted", "prune", "negative_keys", "fill_empty", "default_id")
    settings = {name: op.get_attr(name) for name in attributes}
    differentiable = [
        weighted and getattr(getattr(given, "op", None), "type", "") != "StopGradient"
        for weighted, given in zip(settings["weighted"], weights, strict=True)
    ]
    with tf.device("/device:CPU:0"):
        unique, sums, weight_gradients = native.ops().rec_pooled_gradient_group(
            handles, keys, layouts, weights, rows, norms, gradients, weight_gradients=differentiable, **settings
        )
    slices = [
        tf.IndexedSlices(values, ids, tf.shape(anchor))
        for values, ids, anchor in zip(sums, unique, anchors, strict=True)
    ]
    own = [gradient if wanted else None for gradient, wanted in zip(weight_gradients, differentiable, strict=True)]
    none = [None] * tables
    return [*none, *slices, *none, *none, *own, *none, *none]


def _grouped_gradient(op: tf.Operation, *gradients: tf.Tensor) -> list[Any]:
    """Return for each anchor what a lookup of its own would return."""
    tables = len(gradients)
    anchors, keys, likes = (list(op.inputs[i * tables : (i + 1) * tables]) for i in (1, 2, 3))
    slices = [_slices(*one) for one in zip(gradients, keys, likes or anchors, strict=True)]
    return [None] * tables + slices + [None] * tables + [None] * len(likes)


def _admitted_gradient(op: tf.Operation, gradient: tf.Tensor, _: Any) -> list[Any]:
    """Return for the anchor the gradients of keys that have a row; the others get none."""
    anchor, keys, admitted = op.inputs[1], op.inputs[2], tf.reshape(op.outputs[1], [-1])
    values = tf.boolean_mask(tf.reshape(gradient, [-1, anchor.shape.as_list()[1]]), admitted)
    kept = tf.boolean_mask(tf.reshape(keys, [-1]), admitted)
    return [None, tf.IndexedSlices(values, kept, tf.shape(anchor)), *[None] * (len(op.inputs) - 2)]


def _packed_gradient(op: tf.Operation, gradient: tf.Tensor) -> list[Any]:
    """Return for the rows of each table their part of the message's gradient."""
    *rows, asked, lengths = op.inputs
    widths = [one.shape[1] for one in rows]
    return [*native.ops().rec_unpack_rows(gradient, asked, lengths, N=len(widths), widths=widths), None, None]


def _spread_gradient(op: tf.Operation, *gradients: tf.Tensor) -> list[Any]:
    """Return for the message the summed gradients of the ids of each row, or of the bags of each sum."""
    tables, (_, counts, _, *links) = len(gradients), op.inputs
    return [native.ops().rec_sum_rows(gradients, counts, links[:tables], links[tables:]), *[None] * (2 + 2 * tables)]


def _kept_sparse(gradient: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    @functools.wraps(gradient)
    def of_rows(op: tf.Operation, *gradients: tf.Tensor) -> list[Any]:
        if _tf_private.recomputes():
            raise ValueError(
                "a lookup inside of tf.recompute_grad has no gradient for its table, because TensorFlow makes all "
                "gradients of the function's variables dense: look the rows up before, and give them to the function"
            )
        return gradient(op, *gradients)

    return _at_the_op(of_rows)


def _at_the_op(gradient: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Let a gradient of a graph of several tasks be computed where the op is, so that it is sent nowhere else."""

    @functools.wraps(gradient)
    def there(op: tf.Operation, *gradients: tf.Tensor) -> list[Any]:
        device = getattr(op, "device", None) or ""
        with tf.device(device) if "/job:" in device else contextlib.nullcontext():
            return gradient(op, *gradients)

    return there


# Training by address uses the gradient of the rows; an expanded lookup has none for the anchor.
tf.no_gradient("RecExpand")
tf.RegisterGradient("RecPackRows")(_at_the_op(_packed_gradient))
tf.RegisterGradient("RecSpreadRows")(_at_the_op(_spread_gradient))
for _op_type in ("RecPartitionKeys", "RecUnpackKeys", "RecPadParts", "RecCutParts"):
    tf.no_gradient(_op_type)
for _gradient, _op_types in (
    (_pooled_gradient, ("RecPooledLookup", "RecPooledLookupOrInsert")),
    (_pooled_group_gradient, ("RecPooledLookupGroup", "RecPooledLookupOrInsertGroup")),
    (_grouped_gradient, ("RecLookupGroup", "RecLookupOrInsertGroup")),
    (_admitted_gradient, ("RecLookupAdmitted", "RecLookupAndAdmit")),
    (_lookup_gradient, ("RecLookup", "RecLookupOrInsert", "RecLookupPermitted")),
):
    for _op_type in _op_types:
        tf.RegisterGradient(_op_type)(_kept_sparse(_gradient))
