"""`prefetch`: has the rows of ids read from tiers below memory before the step that looks them up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, native
from runtime.lookup import id_checks
from runtime.table.anchor import Anchor
from runtime.table.table import Table

__all__ = ["prefetch"]


@_tf_private.as_written
def prefetch(table: Any, ids: Any) -> Any:
    """Return `ids` as they are, and have their rows read in the background where they lie below memory.

    For the function of a `tf.data.Dataset.map`, the last one, with `.prefetch(n)` behind it: while a step computes, the
    rows of the next n batches come near. It changes no result: no id is inserted, counted or moved, and a batch whose
    rows are not there yet reads them itself. `rewriter.GraphModifierHook` puts it into datasets by itself.

    Args:
        table: a table, its variable (also a DeepRec EmbeddingVariable, whole or in parts), or a list of such. One
            without tiers below memory has nothing to read.
        ids: an int32 or int64 tensor of any shape, a SparseTensor or a RaggedTensor.

    Raises:
        ValueError: no table, or ids of another type.
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


def _tables(given: Any) -> list[Table]:
    if isinstance(given, Anchor):
        return [given.table]
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [table for one in given for table in _tables(one)]
    return [id_checks.require_table(given, "table")]
