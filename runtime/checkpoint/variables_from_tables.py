"""Extends Savers: importing this lets them restore some tensors by other ways than by their names.

A model may be trained with tables, while a graph that only scores with it needs all rows of a variable at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from runtime import _tf_private_savers
from runtime.checkpoint.presence import restored, tables_in
from runtime.table.anchor import GraphAnchor

#: For each rewritten graph: the shapes [rows, ...] of the variables that it does not train.
_shapes: WeakKeyDictionary[tf.Graph, dict[str, tuple[int, ...]]] = WeakKeyDictionary()


def restore_from_tables(graph: tf.Graph, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Let Savers that are built later restore these variables also from tables: row i is that of key i."""
    _shapes[graph] = dict(shapes)


def is_rewritten(graph: tf.Graph | None) -> bool:
    """Whether a graph was rewritten."""
    return graph in _shapes


def _read_whole(prefix: tf.Tensor, items: list[Any]) -> dict[int, list[tf.Tensor]]:
    """Return the values of such variables among a Saver's items, by the items' numbers."""
    shapes = _shapes.get(prefix.graph, {})
    names = {
        at: item.specs[0].name
        for at, item in enumerate(items)
        if len(item.specs) == 1 and item.specs[0].name in shapes and not item.specs[0].slice_spec
    }
    if not names:
        return {}
    with tf.device("/device:CPU:0"):
        there = tables_in(prefix, list(names.values()))
        return {
            at: [_value(prefix, name, shapes[name], is_table)]
            for (at, name), is_table in zip(names.items(), there, strict=True)
        }


def _value(prefix: tf.Tensor, name: str, shape: tuple[int, ...], is_table: tf.Tensor) -> tf.Tensor:
    def of_table() -> tf.Tensor:
        keys, values = restored(prefix, [f"{name}-keys", f"{name}-values"], [tf.int64, tf.float32])
        inside = tf.where((keys >= 0) & (keys < shape[0]))[:, 0]
        message = (
            f"the checkpoint's table `{name}` does not have all {shape[0]} rows of the variable that this graph uses "
            "as a whole: look its ids up, or give the variable the number of rows that it was trained with"
        )
        count = tf.size(inside)
        whole = tf.raw_ops.Assert(condition=tf.equal(count, shape[0]), data=[message, count])
        with tf.control_dependencies([whole]):
            rows = tf.reshape(tf.gather(values, inside), [-1, *shape[1:]])
            return tf.scatter_nd(tf.gather(keys, inside)[:, None], rows, shape)

    def of_variable() -> tf.Tensor:
        return restored(prefix, [name], [tf.float32])[0]

    return tf.cond(is_table, of_table, of_variable)


def _first_tensors(prefix: tf.Tensor, items: list[Any]) -> dict[int, list[tf.Tensor]]:
    """Return all restored tensors for tables that replaced variables; for others only the empty anchor."""
    anchors = {at: item for at, item in enumerate(items) if isinstance(item, GraphAnchor) and item.table.is_save}
    first = {at: [tf.zeros([0, anchor.table.dim])] for at, anchor in anchors.items()}
    readers = {at: (anchor.table.whole.table_name, anchor.reader) for at, anchor in anchors.items() if anchor.reader}
    if readers:
        there = tables_in(prefix, [name for name, _ in readers.values()])
        first |= {at: read(prefix, one) for (at, (_, read)), one in zip(readers.items(), there, strict=True)}
    whole = {at: item.read_all(prefix) for at, item in enumerate(items) if at in anchors or hasattr(item, "read_all")}
    first |= {at: tensors for at, tensors in whole.items() if tensors is not None}
    return first | _read_whole(prefix, items)


_tf_private_savers.extend_savers(_first_tensors)
