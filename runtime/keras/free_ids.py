"""What a variable over a table does where the ids of its rows are buckets, which it may give up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import native
from runtime.native.base_keys import FIRST_BASE_KEY, are_base_keys
from runtime.table.anchor import without_base
from runtime.table.table import Table

__all__ = ["OTHERS", "FreeIds"]

#: What a file of Keras calls the ids that are not in the matrix, and their rows.
OTHERS = ("other_keys", "other_values")


class FreeIds:
    """Ids that are no buckets any more, and begin as the rows of these."""

    table: Table
    name: Any
    _rows: Any

    #: Gives the ids to look up in place of these.
    ids_of: Callable[[tf.Tensor], tf.Tensor] = staticmethod(lambda ids: ids)
    #: Whether ids have the rows of their buckets as a base; None as long as that is not decided.
    gives_up_buckets: bool | None = None
    _stored_base = False  #: whether rows of such ids were restored

    @property
    def first_key(self) -> int:
        """The key of the first row."""
        return FIRST_BASE_KEY if self.gives_up_buckets else 0

    def places(self, keys: Any) -> Any:
        """Return which rows keys are of; those of other ids are negative, or beyond the rows."""
        return keys - FIRST_BASE_KEY if self.gives_up_buckets else keys

    def take_stored(self, keys: Any) -> Any:
        """Return which stored rows to take, a mask: those of a base are the rows that a file has as the matrix.

        Raises:
            ValueError: they are of ids that gave up their buckets, and those of this table keep them.
        """
        base = np.asarray(are_base_keys(keys))
        self._stored_base = self._stored_base or bool(base.any())
        if self.table.arguments.base_buckets is None or self.gives_up_buckets is False:
            self.keep_buckets()
        return ~base

    def keep_buckets(self) -> None:
        """Let ids be rows from now on.

        Raises:
            ValueError: rows were restored that are of ids which gave up their buckets.
        """
        if self._stored_base:
            raise ValueError(without_base(self.table.table_name, tf.constant([FIRST_BASE_KEY]))[1])
        self.gives_up_buckets = False

    def give_up_buckets(self) -> None:
        """Let the rows, with their slots, be what ids begin as from now on."""
        with tf.init_scope(), self.table.written():
            keys, *rest = self.table.snapshot()
            is_row = (keys >= 0) & (keys < self._rows)
            if bool(tf.reduce_any(is_row)):  # else they were restored as the base
                keys = tf.where(is_row, keys + FIRST_BASE_KEY, keys)
                native.ops().rec_table_import(self.table.handle, keys, *rest)
        self.gives_up_buckets = True

    @property
    def all_in_matrix(self) -> bool:
        """Whether no other ids than those of the matrix have rows."""
        own = 0 if self.gives_up_buckets else self._rows  # those have rows from the beginning
        return int(self.table.size()) == own

    def save_others(self, store: Any, prefix: str = "") -> None:
        """Put the rows of ids that are not in the matrix into a file of Keras, if there are any."""
        if not self.all_in_matrix:
            keys, values = (part.numpy() for part in self.table.snapshot()[:2])
            places = self.places(keys)
            others = (places < 0) | (places >= self._rows)
            others |= keys == FIRST_BASE_KEY  # which says that ids gave up their buckets
            store[f"{prefix}{OTHERS[0]}"], store[f"{prefix}{OTHERS[1]}"] = keys[others], values[others]

    def load_others(self, store: Any, prefix: str = "") -> None:
        """Take the rows of ids that are not in the matrix from a file of Keras, if it has any."""
        keys, values = (f"{prefix}{name}" for name in OTHERS)
        if keys in store.keys():  # noqa: SIM118 - an h5 group
            stored = np.asarray(store[keys])
            taken = self.take_stored(stored)
            self.table.import_rows(stored[taken], np.asarray(store[values])[taken])

    def require_matrix(self) -> None:
        """Check that the rows are all in the matrix, of which an optimizer knows.

        Raises:
            ValueError: ids gave up their buckets, and have rows of their own.
        """
        if self.gives_up_buckets:
            raise ValueError(
                f"`{self.name.removesuffix(':0')}` gave up the buckets of its ids, and the code of its optimizer "
                "trains the rows of buckets alone: train it with SGD, Adagrad, Adam or AdamW of Keras, or leave the "
                "setting `unbucket` out for it"
            )
