"""Dynamic expansion: a training step works on the rows of its distinct ids and on their addresses, as in Rec SDK.

A training lookup of a table made under `init(use_dynamic_expansion=True)` becomes rows -> gather. The rows and their
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
#: Their addresses int64 [n]: valid until the row is evicted, the table reset or restored, and refused afterwards.
ID_OFFSET = "ASCEND_SPARSE_LOOKUP_ID_OFFSET"


def lookup(table: Table, keys: tf.Tensor) -> tf.Tensor:
    """Return the rows of `keys` [..., dim], through rows and addresses that the collections get."""
    rows, addresses, numbers = native.ops().rec_expand(table.handle, table.variable.tensor(), keys)
    id_checks.recorded([table], rows)
    table.expansions.append((rows, addresses))
    tf.compat.v1.add_to_collection(LOCAL_EMB, rows)
    tf.compat.v1.add_to_collection(ID_OFFSET, addresses)
    return tf.gather(rows, numbers)


def rows_at(table: Table, addresses: Any, name: str | None = None) -> tf.Tensor:
    """Return the rows float [*addresses.shape, dim] at these addresses.

    Running it fails with InvalidArgumentError for an address that is not, or no longer, that of a row.
    """
    with tf.name_scope(name or f"{table.table_name}_rows_at"), tf.device("/device:CPU:0"):
        return native.ops().rec_lookup_at(table.handle, table.variable.tensor(), addresses)


def table_of(addresses: Any) -> Table:
    """Return the table whose lookup gave the tensor `addresses`.

    Raises:
        ValueError: no lookup did.
    """
    for table in tables():
        if any(addresses is known for _, known in table.expansions):
            return table
    raise ValueError(
        f"{addresses!r} is no tensor of addresses: take those of the collection {ID_OFFSET} as they are, each with the "
        f"gradient of its rows in {LOCAL_EMB}"
    )
