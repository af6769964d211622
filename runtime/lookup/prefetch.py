"""`prefetch`: reads rows from storage tiers below memory before the step that looks them up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, native
from runtime.lookup import id_checks
from runtime.table.anchor import Anchor
from runtime.table.table import Table


@_tf_private.as_written
def prefetch(table: Any, ids: Any) -> Any:
    """Return `ids` unchanged, and read their rows in the background if they are below memory.

    Use it in the function of the last `tf.data.Dataset.map`, followed by `.prefetch(n)`: while a step computes, rows of
    the next n batches are read. Results do not change: no id is inserted, counted or moved, and a batch whose rows are
    not there yet reads them itself. `rewriter.GraphModifierHook` adds it to datasets automatically.

    Args:
        table: a table, its variable (also a DeepRec EmbeddingVariable, whole or partitioned), or a list of these.
            Tables without tiers below memory are ignored.
        ids: an int32 or int64 tensor of any shape, a SparseTensor or a RaggedTensor.

    Raises:
        ValueError: it is not a table, or ids have another type.
    """
    instances = [one.instance for one in _tables(table) if one.tiered]
    if isinstance(ids, tf.SparseTensor):
        return tf.SparseTensor(ids.indices, _passed(instances, ids.values), ids.dense_shape)
    if isinstance(ids, tf.RaggedTensor):
        return ids.with_flat_values(_passed(instances, ids.flat_values))
    return _passed(instances, ids)


def _passed(instances: list[str], ids: Any) -> tf.Tensor:
    keys = id_checks.integers(ids, "tables to prefetch")
    if not instances:
        return keys
    with tf.device("/device:CPU:0"):
        return native.ops().rec_prefetch_keys(keys, instances=instances)


def _tables(tables: Any) -> list[Table]:
    if isinstance(tables, Anchor):
        return [tables.table]
    if isinstance(tables, Sequence) and not isinstance(tables, str):
        return [table for one in tables for table in _tables(one)]
    return [id_checks.require_table(tables, "table")]
