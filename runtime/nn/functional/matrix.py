"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional.creation import diagonal
from runtime.nn.functional.tensors import rank, tensor


def matmul(x: Any, y: Any, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the product of matrices, of which leading dimensions broadcast; a vector counts as one row or column.

    Args:
        x: [..., n, m] or [m].
        y: [..., m, k] or [m].
        transpose_x: x is [..., m, n]; a vector stays.
        transpose_y: y is [..., k, m]; a vector stays.
        name: not used.

    Returns:
        [..., n, k], without n if x is a vector, and without k if y is one.
    """
    x, y = tensor(x), tensor(y)
    row, column = rank(x) == 1, rank(y) == 1
    left = tf.expand_dims(x, 0) if row else x
    right = tf.expand_dims(y, 1) if column else y
    product = tf.matmul(left, right, transpose_a=transpose_x and not row, transpose_b=transpose_y and not column)
    dropped = ([-2] if row else []) + ([-1] if column else [])
    return tf.squeeze(product, dropped) if dropped else product


def mm(input: Any, mat2: Any, name: str | None = None) -> tf.Tensor:
    """Return the product of matrices."""
    return matmul(input, mat2)


def bmm(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return the products of batches of matrices: [b, n, m] and [b, m, k] give [b, n, k]."""
    return tf.matmul(tensor(x), tensor(y))


def mv(x: Any, vec: Any, name: str | None = None) -> tf.Tensor:
    """Return the product of a matrix [n, m] and a vector [m]."""
    return matmul(x, vec)


def dot(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return the products of vectors: [m] give a 0-d tensor, [b, m] give [b]."""
    return tf.reduce_sum(tensor(x) * tensor(y), -1)


def inner(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return the sums of products over the last axes of both."""
    x, y = tensor(x), tensor(y)
    return tf.tensordot(x, y, [[-1], [-1]]) if rank(x) and rank(y) else x * y


def outer(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return all products of elements of the flattened tensors: [n, m]."""
    return tf.reshape(tensor(x), [-1, 1]) * tf.reshape(tensor(y), [1, -1])


def addmm(input: Any, x: Any, y: Any, beta: float = 1.0, alpha: float = 1.0, name: str | None = None) -> tf.Tensor:
    """Return beta · input + alpha · (x @ y)."""
    return beta * tensor(input) + alpha * matmul(x, y)


def einsum(equation: str, *operands: Any) -> tf.Tensor:
    """Return the sum of products that the equation says, such as "bij,bjk->bik"."""
    return tf.einsum(equation.replace(" ", ""), *[tensor(operand) for operand in operands])


def linear(x: Any, weight: Any, bias: Any = None, name: str | None = None) -> tf.Tensor:
    """Return x @ weight + bias.

    Args:
        x: [..., n].
        weight: [n, m].
        bias: [m] or None.
        name: not used.
    """
    product = matmul(x, weight)
    return product if bias is None else with_bias(product, bias)


def with_bias(x: tf.Tensor, bias: Any) -> tf.Tensor:
    """Return x [..., m] plus the bias [m].

    Of `+`, TensorFlow sums the bias's gradient up to 200 times less exactly, which shows where its terms cancel.
    """
    bias = tensor(bias)
    alike = (x.shape.rank or 0) >= 2 and bias.shape.rank == 1 and bias.shape[0] == x.shape[-1]
    return tf.nn.bias_add(x, bias) if alike else x + bias


def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None, name: str | None = None) -> tf.Tensor:
    """Return x1 · weight[k] · x2 for each k.

    Args:
        x1: [b, n].
        x2: [b, m].
        weight: [k, n, m].
        bias: [1, k] or None.
        name: not used.

    Returns:
        [b, k].
    """
    product = tf.einsum("bn,knm,bm->bk", tensor(x1), tensor(weight), tensor(x2))
    return product if bias is None else product + tensor(bias)


def tensordot(x: Any, y: Any, axes: Any = 2, name: str | None = None) -> tf.Tensor:
    """Return the sums of products over axes: how many, the last of x and the first of y, or a list for each."""
    return tf.tensordot(tensor(x), tensor(y), axes)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> tf.Tensor:
    """Return the sum of a diagonal of the matrices in two axes."""
    return tf.reduce_sum(diagonal(x, offset, axis1, axis2), -1)


__all__ = [
    "addmm",
    "bilinear",
    "bmm",
    "dot",
    "einsum",
    "inner",
    "linear",
    "matmul",
    "mm",
    "mv",
    "outer",
    "tensordot",
    "trace",
]
