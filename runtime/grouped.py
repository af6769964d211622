"""`grouped_lookup`: the lookups of many tables in one op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _checks, _ids, _tensorflow, admission, native, ranks
from runtime.lookup import dense_keys, sparse_lookup
from runtime.table import Table


@_tensorflow.as_written
def grouped_lookup(
    tables_and_ids: Sequence[tuple[Table, Any]],
    is_train: Any = True,
    is_grad: bool = True,
    name: str | None = None,
    modify_graph: bool | None = False,
) -> list[tf.Tensor]:
    """Return for each (table, ids) what `sparse_lookup(table, ids)` returns, all from one op.

    A `tf.function` runs stateful ops one after another, and a small lookup is mostly the cost of its op; here many run
    at once. A table may come several times. The other arguments are those of `sparse_lookup`, for all of them.

    Raises:
        ValueError: as `sparse_lookup`, nothing to look up, or training a table that expands.
    """
    given = _checks.pairs("tables_and_ids", tables_and_ids, "pairs (table, ids)")
    pairs = [(_ids.require_table(table, "hashtable"), ids) for table, ids in given]
    if name is not None:
        _checks.text("name", name)
    if not pairs:
        raise ValueError("grouped_lookup has nothing to look up: give it at least one pair (table, ids)")
    members = [table for table, _ in pairs]
    _ids.refuse_counted(members)
    for table in members:
        admission.agree(table, admission.OFF)
    _ids.refuse_expanding(members, is_train, is_grad)
    trains = _ids.with_gradient(members, is_grad)
    scope = tf.name_scope(name or "grouped_lookup")
    with _ids.movable(members, modify_graph), scope, tf.device("/device:CPU:0"):
        if ranks.size() > 1:
            more = {"is_train": is_train, "is_grad": is_grad, "modify_graph": modify_graph}
            return [sparse_lookup(table, ids, **more) for table, ids in pairs]
        flat = [ids.flat_values if isinstance(ids, tf.RaggedTensor) else ids for _, ids in pairs]
        keys = [tf.cast(dense_keys(ids, table), tf.int64) for table, ids in zip(members, flat, strict=True)]

        def run(op: Callable[..., list[tf.Tensor]]) -> list[tf.Tensor]:
            anchors = {table: table.variable.tensor() for table in members}
            rows = op([table.handle for table in members], [anchors[table] for table in members], keys)
            _ids.recorded(anchors, rows[0])
            return rows

        ops = native.ops()
        rows = _ids.either(is_train, lambda: run(ops.rec_lookup_or_insert_group), lambda: run(ops.rec_lookup_group))
        for i, (table, ids) in enumerate(pairs):
            rows[i].set_shape(keys[i].shape.concatenate([table.dim]))
            rows[i] = rows[i] if trains else tf.stop_gradient(rows[i])
            rows[i] = ids.with_flat_values(rows[i]) if isinstance(ids, tf.RaggedTensor) else rows[i]
        return rows
