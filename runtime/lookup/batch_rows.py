"""`looked_up_rows`: the rows that a graph looks up, once each, for terms such as L2 over a whole variable."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.lookup import id_checks
from runtime.lookup.sparse import sparse_lookup
from runtime.table.table import Table


@_tf_private.as_written
def looked_up_rows(table: Any, name: str | None = None) -> Any:
    """Return float32 [n, dim]: the rows of the distinct ids of all lookups of `table` that this graph has so far.

    For a term over a table, as `tf.nn.l2_loss(looked_up_rows(table))`: each row of the batch counts once, however many
    lookups read it, and its gradient trains the row like any other. Rows outside of the batch do not count. Rows are in
    the order of their first lookup; negative ids that a `safe_embedding_lookup_sparse` drops are left out. A later
    training lookup of the table is an error, because its rows would be missing.

    Args:
        table: a table of a v1 graph. A variable or a tensor is returned as it is, so that a loop over a list of
            parameters may take the rows of those that are tables.
        name: scope of the ops.

    Raises:
        RuntimeError: the table is eager or uses dynamic expansion, has no lookup yet, or has one inside a loop, branch
            or function.
    """
    if not isinstance(table, Table) and hasattr(table, "dtype") and hasattr(table, "shape"):
        return table
    id_checks.require_table(table, "table")
    with tf.name_scope(name or f"{table.table_name}_looked_up"), tf.device("/device:CPU:0"):
        keys = tf.unique(tf.concat([keys for part in table.parts or [table] for keys in _keys(part)], axis=0)).y
        table.taken = True
        # Evaluation: an id without a row reads what its own lookup inserts, so nothing is inserted or counted twice.
        return sparse_lookup(table, keys, is_train=False)


def _keys(table: Table) -> list[tf.Tensor]:
    """Return the ids of the lookups, each int64 [n]."""
    inside = [op for op in table.lookups if _tf_private.in_control_flow(op)]
    if table.graph is None or table.expands or table.inner_lookups or inside:
        raise RuntimeError(
            f"the looked-up rows of the table `{table.table_name}` are only known in a v1 graph, without dynamic "
            "expansion, and with every lookup outside of loops, branches and functions: use the lookups' results"
        )
    looked_up = [keys for op in table.lookups for keys in _keys_of(op, table)]
    if not looked_up:
        raise RuntimeError(
            f"the table `{table.table_name}` is not looked up yet: call looked_up_rows after its last lookup"
        )
    return looked_up


def _keys_of(op: tf.Operation, table: Table) -> list[tf.Tensor]:
    """Return the ids that one op looks up in `table`; a grouped op has handles, anchors and ids of several tables."""
    if not op.type.startswith(("RecLookup", "RecPooledLookup")):
        return []
    members = len(op.outputs) if op.type.endswith("Group") else 1
    own = [i for i in range(members) if op.inputs[i].ref() == table.handle.ref()]
    flat = [tf.reshape(tf.cast(op.inputs[2 * members + i], tf.int64), [-1]) for i in own]
    pruned = "Pooled" in op.type and op.get_attr("prune")
    return [tf.boolean_mask(keys, keys >= 0) for keys in flat] if pruned else flat
