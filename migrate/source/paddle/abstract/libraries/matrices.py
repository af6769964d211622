"""SciPy's sparse matrices: their entries, until the program asks for the array."""

from __future__ import annotations

import numpy as np

from migrate.source.paddle.abstract.values import Refuse, Value

_MAX_SIZE = 50_000_000  #: numbers of an array
#: The classes of `scipy.sparse`; all of them are one here.
CLASSES = ("coo_matrix", "csr_matrix", "csc_matrix", "coo_array", "csr_array", "csc_array")


class Matrix:
    """A sparse matrix of two dimensions.

    Args:
        entries: (values, (rows, columns)), or the two sizes of a matrix of zeros.
        shape: the two sizes; if it is not given, entries just fit.
        dtype: the dtype; that of the values if it is not given, and float64 for zeros.

    Raises:
        Refuse: SciPy's other ways to make a matrix.
        ValueError: the entries differ in number or do not fit.
    """

    def __init__(self, entries: Value, shape: Value = None, dtype: Value = None, copy: bool = False) -> None:
        if not isinstance(entries, tuple) or len(entries) != 2:
            raise Refuse("a sparse matrix is made of (values, (rows, columns)) only")
        if isinstance(entries[1], tuple | list) and len(entries[1]) == 2:
            values, (rows, columns) = np.asarray(entries[0]), entries[1]
        elif shape is None and all(isinstance(size, int) for size in entries):
            values, (rows, columns), shape = np.zeros(0), ((), ()), entries
        else:
            raise Refuse("a sparse matrix is made of (values, (rows, columns)) only")
        self._values = values if dtype is None else values.astype(dtype)
        self._places = np.asarray(rows, np.int64).reshape(-1), np.asarray(columns, np.int64).reshape(-1)
        if not len(self._values) == len(self._places[0]) == len(self._places[1]):
            raise ValueError("values, rows and columns differ in number")
        found = [int(places.max(initial=-1)) + 1 for places in self._places]
        self.shape = tuple(found if shape is None else map(int, shape))
        if len(self.shape) != 2 or any(have > size for have, size in zip(found, self.shape, strict=True)):
            raise ValueError("an entry is beyond the matrix's shape")

    def toarray(self) -> Value:
        """Return the array; entries of the same place are added."""
        if self.shape[0] * self.shape[1] > _MAX_SIZE:
            raise Refuse("an array this large is not supported")
        array = np.zeros(self.shape, self._values.dtype)
        np.add.at(array, self._places, self._values)
        return array

    def tocsr(self) -> Matrix:
        """Return the same matrix, as the other conversions do: nothing differs but how it is kept."""
        return self

    tocsc = tocoo = tocsr


METHODS = frozenset({"toarray", "tocsr", "tocsc", "tocoo"})
