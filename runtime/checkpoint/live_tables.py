"""Rows of a live table: in a session of its v1 graph, or in eager mode."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import native
from runtime.checkpoint.rows import TableRows
from runtime.table.table import Table, grouped

_snapshots: weakref.WeakKeyDictionary[Table, Any] = weakref.WeakKeyDictionary()


def snapshot_tensors(table: Table) -> Any:
    """Return the tensors of a snapshot; cached for a v1 table, so that its graph grows only once."""
    if table not in _snapshots:
        with table.graph.as_default(), tf.control_dependencies(None):
            _snapshots[table] = table.snapshot()
    return _snapshots[table]


def snapshot_rows(table: Table, session: Any = None) -> TableRows:
    """Return the rows of `table`; for a table of a v1 graph, those in `session` (default: the default session).

    Raises:
        ValueError: there is no session.
    """
    if table.graph is None:
        return TableRows(*(tensor.numpy() for tensor in table.snapshot()))
    session = session or tf.compat.v1.get_default_session()
    if session is None:
        raise ValueError(f"the table `{table.table_name}` belongs to a session: give `session=`")
    return TableRows(*session.run(snapshot_tensors(table)))


def replace_rows(table: Table, rows: Sequence[tf.Tensor]) -> tf.Operation | None:
    """Replace all rows by `rows`: keys, values, slots, metadata. For a v1 table, return the op; it initializes it."""
    if table.graph is not None:
        anchor = tf.zeros([0, table.dim])
        parts = table.parts or [table]
        return grouped([part.variable.restore([anchor, *part.own_of_checkpoint(rows)], None) for part in parts])
    with table.written():
        native.ops().rec_table_import(table.handle, *rows)
    return None
