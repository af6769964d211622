"""Under dynamic expansion: the collections of rows and of their addresses, and the table that an address is of."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import native
from runtime.table.create import tables
from runtime.table.table import Table

#: Rows float [n, dim] of the distinct ids of each training lookup.
LOCAL_EMB = "ASCEND_SPARSE_LOOKUP_LOCAL_EMB"
#: Their addresses int64 [n]: valid until the row is evicted, the table reset or restored, and refused afterwards.
ID_OFFSET = "ASCEND_SPARSE_LOOKUP_ID_OFFSET"


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
