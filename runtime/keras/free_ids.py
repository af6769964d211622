"""What a variable over a table does where the ids of its rows are buckets, which it may give up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import native
from runtime.native.base_keys import FIRST_BASE_KEY
from runtime.table.table import Table

__all__ = ["FreeIds"]


class FreeIds:
    """Ids that are no buckets any more, and begin as the rows of these."""

    table: Table
    _rows: int

    #: Gives the ids to look up in place of these.
    ids_of: Callable[[tf.Tensor], tf.Tensor] = staticmethod(lambda ids: ids)
    #: Whether ids have the rows of their buckets as a base; None as long as that is not decided.
    gives_up_buckets: bool | None = None

    @property
    def first_key(self) -> int:
        """The key of the first row."""
        return FIRST_BASE_KEY if self.gives_up_buckets else 0

    def places(self, keys: Any) -> Any:
        """Return which rows keys are of; those of other ids are negative, or beyond the rows."""
        return keys - FIRST_BASE_KEY if self.gives_up_buckets else keys

    def give_up_buckets(self) -> None:
        """Let the rows, with their slots, be what ids begin as from now on."""
        with tf.init_scope(), self.table.written():
            keys, *rest = self.table.snapshot()
            is_row = (keys >= 0) & (keys < self._rows)
            if bool(tf.reduce_any(is_row)):  # else they were restored as the base
                keys = tf.where(is_row, keys + FIRST_BASE_KEY, keys)
                native.ops().rec_table_import(self.table.handle, keys, *rest)
        self.gives_up_buckets = True
