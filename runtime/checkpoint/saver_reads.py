"""Extends Savers: importing this lets them restore some tensors by other ways than by their names."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private_savers
from runtime.checkpoint.presence import tables_in
from runtime.checkpoint.variables_from_tables import read_whole
from runtime.table.anchor import GraphAnchor


def _read(prefix: tf.Tensor, items: list[Any]) -> dict[int, list[tf.Tensor]]:
    """Return all restored tensors for tables that replaced variables; for others only the empty anchor."""
    anchors = {at: item for at, item in enumerate(items) if isinstance(item, GraphAnchor) and item.table.is_save}
    first = {at: [tf.zeros([0, anchor.table.dim])] for at, anchor in anchors.items()}
    readers = {at: (anchor.table.table_name, anchor.reader) for at, anchor in anchors.items() if anchor.reader}
    if readers:
        there = tables_in(prefix, [name for name, _ in readers.values()])
        first |= {at: read(prefix, one) for (at, (_, read)), one in zip(readers.items(), there, strict=True)}
    whole = {at: item.read_all(prefix) for at, item in enumerate(items) if at in anchors or hasattr(item, "read_all")}
    first |= {at: tensors for at, tensors in whole.items() if tensors is not None}
    return first | read_whole(prefix, items)


_tf_private_savers.extend_savers(_read)
