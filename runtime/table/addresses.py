"""Dynamic expansion: the collections of rows and of their addresses, and the table that an address belongs to."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import native
from runtime.table.create import tables
from runtime.table.table import Table

#: Rows float [n, dim] of the distinct ids of each training lookup.
LOCAL_EMB = "ASCEND_SPARSE_LOOKUP_LOCAL_EMB"
#: Addresses int64 [n] of these rows: valid until the row is evicted or the table is reset or restored.
ID_OFFSET = "ASCEND_SPARSE_LOOKUP_ID_OFFSET"


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
