"""Sparse matrices of SciPy, by shape and dtype: a program computes them in Python, before its graph.

SciPy is not called. `toarray()` gives an array, of which `paddle.to_tensor` makes a constant of the graph; a reader may
cut it into samples where the entries are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from migrate.source.paddle.abstract.values import Dtype, Refuse, Tensor, Value

Pair = tuple[int, int]
_MAX_SIZE = 50_000_000  #: numbers of an array


@dataclass(frozen=True, eq=False)
class Matrix:
    """A sparse matrix; `dense` is one that NumPy holds, such as the sums of rows."""

    shape: Pair
    dtype: np.dtype[Any]
    dense: bool = False
    #: Values, rows and columns of the entries; None after operations.
    entries: tuple[Any, Any, Any] | None = None

    @property
    def T(self) -> Matrix:
        """The transposed matrix."""
        return Matrix((self.shape[1], self.shape[0]), self.dtype, self.dense)

    def _with(self, other: Value) -> Matrix:
        """Return the result of an operation by element."""
        if not isinstance(other, Matrix):
            return self._scaled(other)
        shape = np.broadcast_shapes(self.shape, other.shape)
        return Matrix((shape[0], shape[1]), np.result_type(self.dtype, other.dtype), self.dense and other.dense)

    def _scaled(self, factor: Value) -> Matrix:
        if not isinstance(factor, (int, float, np.number)):
            raise Refuse(f"a matrix of SciPy and {type(factor).__name__} in one expression is not supported")
        kind = np.result_type(self.dtype, np.float32) if isinstance(factor, float) else self.dtype
        return Matrix(self.shape, kind, self.dense)

    def multiply(self, other: Value) -> Matrix:
        """Return the product by element."""
        product = self._with(other)
        return Matrix(product.shape, product.dtype)

    def dot(self, other: Value) -> Matrix:
        """Return the product of matrices."""
        if not isinstance(other, Matrix):
            return self._scaled(other)
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"matrices of shapes {self.shape} and {other.shape} are multiplied")
        dtype = np.result_type(self.dtype, other.dtype)
        return Matrix((self.shape[0], other.shape[1]), dtype, self.dense and other.dense)

    def sum(self, axis: Value = None) -> Matrix:
        """Return the sums over an axis."""
        if axis not in (0, 1, -1, -2):
            raise Refuse(
                "the sum of a matrix of SciPy is known only when the model runs; sum along an axis, or in the graph"
            )
        kind = self.dtype if self.dtype.kind == "f" else np.dtype(np.int64)
        return Matrix((1, self.shape[1]) if axis in (0, -2) else (self.shape[0], 1), kind, True)

    def astype(self, dtype: Value) -> Matrix:
        """Return it in another dtype."""
        return Matrix(self.shape, np.dtype(dtype), self.dense)

    def transpose(self) -> Matrix:
        """Return the transposed matrix."""
        return self.T

    def reshape(self, *shape: Value) -> Matrix:
        """Return it in another shape of two sizes."""
        wanted = shape[0] if len(shape) == 1 else shape
        sizes = np.broadcast_to(np.int8(0), self.shape).reshape(wanted).shape
        if len(sizes) != 2:
            raise Refuse("a matrix of SciPy has two dimensions")
        return Matrix((sizes[0], sizes[1]), self.dtype, self.dense)

    def copy(self) -> Matrix:
        """Return a matrix like it."""
        return self

    tocsr = tocsc = tocoo = tolil = todok = copy

    def toarray(self) -> Value:
        """Return the array of it; entries of the same place are added."""
        if self.entries is None:
            return Tensor(self.shape, self.dtype.name, array=True)
        if self.shape[0] * self.shape[1] > _MAX_SIZE:
            raise Refuse("an array this large is not supported")
        array = np.zeros(self.shape, self.dtype)
        np.add.at(array, self.entries[1:], self.entries[0])
        return array

    def __add__(self, other: Value) -> Matrix:
        if isinstance(other, Matrix) or other == 0:
            return self._with(other)
        raise Refuse("a number is added to a matrix of SciPy, which SciPy does not do")

    __radd__ = __sub__ = __add__

    def __mul__(self, other: Value) -> Matrix:
        return self.dot(other) if isinstance(other, Matrix) and not self.dense else self._with(other)

    __rmul__ = _scaled
    __truediv__ = _with
    __matmul__ = dot

    def __rtruediv__(self, other: Value) -> Matrix:
        if not self.dense:
            raise Refuse("a number is divided by a sparse matrix, which SciPy does not do")
        return self._scaled(other)

    def __neg__(self) -> Matrix:
        return self

    def _compared(self, other: Value) -> Matrix:
        return Matrix(self._with(other).shape, np.dtype(bool), self.dense)

    __gt__ = __ge__ = __lt__ = __le__ = _compared


METHODS = frozenset(name for name, item in vars(Matrix).items() if callable(item) and not name.startswith("_"))


def attribute(value: Matrix, name: str) -> Value:
    """Return `shape`, `dtype` or `T`; raises `Refuse` for what depends on the elements."""
    if name in {"shape", "T"}:
        return getattr(value, name)
    if name == "dtype":
        return Dtype(value.dtype.name)
    raise Refuse(f"`{name}` of a matrix of SciPy is not supported: its elements are known only when the model runs")


def _made(source: Value, shape: Value = None, dtype: Value = None, copy: Value = False) -> Matrix:
    """Return what `coo_matrix((data, (row, column)), shape)` makes, or the same of an array or a shape."""
    kind = None if dtype is None else np.dtype(dtype)
    if isinstance(source, Matrix):
        return Matrix(source.shape, kind or source.dtype)
    if isinstance(source, Tensor):
        raise Refuse("a matrix of SciPy of a tensor's values is not supported")
    if isinstance(source, tuple) and all(isinstance(size, int) for size in source):
        empty = np.zeros(0, np.int64)
        return Matrix(_pair(source), kind or np.dtype(np.float64), entries=(empty, empty, empty))
    if not isinstance(source, tuple):
        array = np.asarray(source)
        return Matrix(_pair(array.shape), kind or array.dtype)
    if len(source) != 2:  # row pointers in place of rows
        if shape is None:
            raise Refuse("give this matrix its `shape`")
        return Matrix(_pair(shape), kind or np.asarray(source[0]).dtype)
    values, rows, columns = np.asarray(source[0]), *(np.asarray(places, np.int64).reshape(-1) for places in source[1])
    if not len(values) == len(rows) == len(columns):
        raise ValueError("values, rows and columns differ in number")
    needed = [int(places.max(initial=-1)) + 1 for places in (rows, columns)]
    sizes = _pair(needed if shape is None else shape)
    if any(have > size for have, size in zip(needed, sizes, strict=True)):
        raise ValueError("an entry is beyond the matrix's shape")
    return Matrix(sizes, kind or values.dtype, entries=(values, rows, columns))


def _pair(shape: Value) -> Pair:
    if len(shape) != 2:
        raise Refuse("a matrix of SciPy has two dimensions")
    return int(shape[0]), int(shape[1])


#: SciPy's dotted name -> function.
FUNCTIONS: dict[str, Callable[..., Value]] = dict.fromkeys(
    (f"scipy.sparse.{kind}_{end}" for kind in ("coo", "csr", "csc", "lil", "dok") for end in ("matrix", "array")), _made
)
