"""Dynamic expansion: a training step works on rows of distinct ids and on their addresses, as in Rec SDK.

A training lookup of a table created under `init(use_dynamic_expansion=True)` becomes rows -> gather. The rows and their
addresses are in two parallel collections; `tf.gradients(loss, rows)` and an optimizer by address train the table:

    rows = tf.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")
    addresses = tf.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")
    train_op = optimizer.apply_gradients(zip(tf.gradients(loss, rows), addresses))
"""

from __future__ import annotations

import tensorflow as tf

from runtime import native
from runtime.lookup import id_checks
from runtime.table.addresses import ID_OFFSET, LOCAL_EMB
from runtime.table.table import Table


def lookup(table: Table, keys: tf.Tensor) -> tf.Tensor:
    """Return the rows of `keys` [..., dim], and add rows and addresses to the collections."""
    rows, addresses, numbers = native.ops().rec_expand(table.handle, table.variable.tensor(), keys)
    id_checks.recorded([table], rows)
    table.expansions.append((rows, addresses))
    tf.compat.v1.add_to_collection(LOCAL_EMB, rows)
    tf.compat.v1.add_to_collection(ID_OFFSET, addresses)
    return tf.gather(rows, numbers)
