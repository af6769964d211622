"""A value that holds the rows of a table at one time, where a variable has an array."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from runtime import native
from runtime.ranks.process_group import refuse_a_part
from runtime.table.table import Table


class TableRows:
    """The rows of a table with their slots: its element of `get_weights()`, for `set_weights()`.

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
        self.keys, self.values, self._slots, self._meta = (part.numpy() for part in table.snapshot())

    #: The shape and type of the weight that stands for the table.
    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, int]:
        """[0, dim], as the weight that stands for the table has it."""
        return (0, self.dim)

    def restore(self, table: Table) -> None:
        """Replace all rows and slots of a table of the same width by these.

        Raises:
            RanksError: its rows are distributed over several ranks.
        """
        refuse_a_part(table.table_name)
        with table.written():
            native.ops().rec_table_import(table.handle, self.keys, self.values, self._slots, self._meta)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: the rows of a table are no matrix by position."""
        raise TypeError(
            f"the weight of the table `{self.table_name}` is no array: take its .keys and .values, or give it to "
            "set_weights(); save a Keras model as `.keras`, `.weights.h5` or a TensorFlow checkpoint"
        )

    def __repr__(self) -> str:
        return f"<{len(self.keys)} rows of the table {self.table_name!r}, dim {self.dim}>"
