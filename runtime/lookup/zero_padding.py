"""Tables with a row of zeros for padding, as `tf.concat([tf.zeros([1, D]), W[1:]], 0)` of a variable has one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.lookup.sparse import sparse_lookup
from runtime.table.table import Table

__all__ = ["ZeroPadded", "padded_lookup", "zero_padded"]


#: Where the row of zeros is: instead of row 0, before row 0, or behind the last row.
PLACES = ("first", "before", "last")


@dataclass(frozen=True)
class ZeroPadded:
    """A table with an id that stands for padding: it reads zeros, and has no gradient."""

    table: Table
    place: str = "first"

    def split(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the ids of the table for padded ids of any shape, and where these are the padding, bool."""
        padding = tf.constant(self.table.device_vocabulary_size if self.place == "last" else 0, ids.dtype)
        is_padding = tf.equal(ids, padding)
        if self.place == "first":
            return ids, is_padding
        beside = tf.maximum(padding - 1, 0)  # the padding must not insert a row of its own
        return tf.where(is_padding, beside, ids - 1 if self.place == "before" else ids), is_padding


def zero_padded(table: Table | ZeroPadded, place: str = "first") -> ZeroPadded:
    """Return the table with a row of zeros; `padded_lookup` takes both.

    Args:
        table: a table. One whose row 0 is zeros already may be given again with the place "first".
        place: "first", id 0 reads zeros instead of row 0; "before", id 0 reads zeros and id i row i - 1; "last", the
            id `device_vocabulary_size` of the table reads zeros.

    Raises:
        ValueError: it is no table, it is padded already, or the place is another.
    """
    if place not in PLACES:
        raise ValueError(f"`place` is {place!r}: use one of {', '.join(map(repr, PLACES))}")
    if isinstance(table, ZeroPadded):
        if table.place == place == "first":
            return table
        raise ValueError(f"the table `{table.table.table_name}` has a row of zeros already: pad it once")
    if not isinstance(table, Table):
        raise ValueError(f"`table` must be a table: got {type(table).__name__}; create one by create_table")
    return ZeroPadded(table, place)


@_tf_private.as_written
def padded_lookup(
    table: Table | ZeroPadded,
    ids: Any,
    is_train: Any = True,
    name: str | None = None,
    modify_graph: bool | None = False,
    access_and_evict_config: dict[str, Any] | None = None,
) -> tf.Tensor | tf.RaggedTensor:
    """Return the rows of `ids`, as `sparse_lookup` does; of a padded table, zeros for the padding, without gradient.

    Args:
        table: a table, or what `zero_padded` made of one.
        ids: int32 or int64 tensor of any rank, or a RaggedTensor. The id of the padding inserts the row beside it,
            or the row 0 that it hides, with a gradient of zeros.
        is_train: as the arguments that follow, see `sparse_lookup`.
        name: scope of the ops.
        modify_graph: allows GraphModifierHook to let the dataset compute the ids.
        access_and_evict_config: thresholds of admission and eviction.

    Returns:
        float32 of shape ids.shape + [dim]; ragged for ragged ids.

    Raises:
        ValueError: as `sparse_lookup`.
    """
    options: dict[str, Any] = {
        "is_train": is_train,
        "modify_graph": modify_graph,
        "access_and_evict_config": access_and_evict_config,
    }
    if not isinstance(table, ZeroPadded):
        return sparse_lookup(table, ids, name=name, **options)
    if isinstance(ids, tf.RaggedTensor):
        return tf.ragged.map_flat_values(lambda flat: padded_lookup(table, flat, name=name, **options), ids)
    own, is_padding = table.split(tf.convert_to_tensor(ids))
    rows = sparse_lookup(table.table, own, name=name, **options)
    return tf.where(is_padding[..., tf.newaxis], tf.zeros([], rows.dtype), rows)
