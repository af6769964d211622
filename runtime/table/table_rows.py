"""A value that holds the rows of a table at one time, where a variable has an array."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from runtime import native
from runtime.ranks.process_group import refuse_a_part
from runtime.table.table import Table


class TableRows:
    """The rows of a table, without its slots: its element of `get_weights()`, for `set_weights()`.

    It is no array, because a table has as many rows as ids were trained. `keys` int64 [n] and `values` float32
    [n, dim] are the ids and their rows.
    """

    def __init__(self, table: Table) -> None:
        """Take a snapshot of the table.

        Raises:
            RanksError: the rows are distributed over several ranks.
        """
        refuse_a_part(table.table_name)
        self.table_name, self.dim = table.table_name, table.dim
        self.keys, self.values = (part.numpy() for part in table.snapshot()[:2])

    #: The shape and type of the weight that stands for the table.
    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, int]:
        """[0, dim], as the weight that stands for the table has it."""
        return (0, self.dim)

    def restore(self, table: Table) -> None:
        """Give a table of the same width these rows, and the rows of all other ids their first values.

        Slots stay, as an optimizer's do when a variable is assigned.

        Raises:
            RanksError: its rows are distributed over several ranks.
        """
        refuse_a_part(table.table_name)
        now = table.snapshot()
        later = np.setdiff1d(now[0].numpy(), self.keys)
        if later.size:
            first = self._first_values(table, later, now)
            table.import_rows(later, first)
        table.import_rows(self.keys, self.values)

    def _first_values(self, table: Table, keys: Any, now: Any) -> Any:
        """Return what the rows of `keys` were when they were inserted; `now` is a snapshot of the table."""
        ops = native.ops()
        with table.written():  # a lookup reads the first value of a row that is missing
            ops.rec_table_remove(table.handle, keys)
            first = ops.rec_lookup(table.handle, table.variable.tensor(), keys, [])
            ops.rec_table_import(table.handle, *now)
        return first

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: the rows of a table are no matrix by position."""
        raise TypeError(
            f"the weight of the table `{self.table_name}` is no array: take its .keys and .values, or give it to "
            "set_weights(); save a Keras model as `.keras`, `.weights.h5` or a TensorFlow checkpoint"
        )

    def __repr__(self) -> str:
        return f"<{len(self.keys)} rows of the table {self.table_name!r}, dim {self.dim}>"
