"""Dynamic expansion: a training step works on rows of distinct ids and on their addresses, as in Rec SDK.

A training lookup of a table created under `init(use_dynamic_expansion=True)` becomes rows -> gather. The rows and their
addresses are in two parallel collections; `tf.gradients(loss, rows)` and an optimizer by address train the table:

    rows = tf.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")
    addresses = tf.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")
    train_op = optimizer.apply_gradients(zip(tf.gradients(loss, rows), addresses))
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import native
from runtime.lookup import id_checks
from runtime.table.table import Table, tables

#: Rows float [n, dim] of the distinct ids of each training lookup.
LOCAL_EMB = "ASCEND_SPARSE_LOOKUP_LOCAL_EMB"
#: Addresses int64 [n] of these rows: valid until the row is evicted or the table is reset or restored.
ID_OFFSET = "ASCEND_SPARSE_LOOKUP_ID_OFFSET"


def lookup(table: Table, keys: tf.Tensor) -> tf.Tensor:
    """Return the rows of `keys` [..., dim], and add rows and addresses to the collections."""
    rows, addresses, numbers = native.ops().rec_expand(table.handle, table.variable.tensor(), keys)
    id_checks.recorded([table], rows)
    table.expansions.append((rows, addresses))
    tf.compat.v1.add_to_collection(LOCAL_EMB, rows)
    tf.compat.v1.add_to_collection(ID_OFFSET, addresses)
    return tf.gather(rows, numbers)


def rows_at(table: Table, addresses: Any, name: str | None = None) -> tf.Tensor:
    """Return the rows float [*addresses.shape, dim] at these addresses.

    The op fails with InvalidArgumentError if an address does not, or no longer, belong to a row.
    """
    with tf.name_scope(name or f"{table.table_name}_rows_at"), tf.device("/device:CPU:0"):
        return native.ops().rec_lookup_at(table.handle, table.variable.tensor(), addresses)


def table_of(addresses: Any) -> Table:
    """Return the table whose lookup returned the tensor `addresses`.

    Raises:
        ValueError: the tensor is not from a lookup.
    """
    for table in tables():
        if any(addresses is known for _, known in table.expansions):
            return table
    raise ValueError(
        f"{addresses!r} is not a tensor of addresses: use those in the collection {ID_OFFSET} unchanged, each with "
        f"the gradient of its rows in {LOCAL_EMB}"
    )
