"""Rows of numbers and one-hot groups: what a `Linear` computes of them without the zeros.

`x @ W` over such a row is `dense @ W_d` plus one row of W for each group. A `Linear` that reads the row keeps W_d; the
rows of the groups of all such layers stand side by side as the columns of one table, which one lookup serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.initializers import ColumnBlocks, column_blocks
from runtime.nn.initializer import Initializer
from runtime.nn.layer import Layer
from runtime.nn.weights.weight import Weight


class Input:
    """A batch of rows of numbers and one-hot groups, which only layers that were placed side by side can read."""

    def __init__(self, dense: Any, embedding: Any) -> None:
        """Keep the two parts.

        Args:
            dense: the numbers, float [batch, numbers].
            embedding: rows of the table, summed over the groups, float [batch, columns of all layers].
        """
        self.dense, self.embedding = dense, embedding

    def __repr__(self) -> str:
        return f"one_hot.Input(dense={self.dense!r}, embedding={self.embedding!r})"


def side_by_side(model: Layer, layers: Sequence[Any], numbers: int) -> int:
    """Give each layer that reads the model's one-hot input its columns of the table; before the model is built.

    Args:
        model: the whole model; its weights learn their paths here.
        layers: those that read the input, from left to right.
        numbers: how many columns of the input are numbers.

    Returns:
        The number of columns of the table.

    Raises:
        ValueError: a layer is built, placed already, or reads fewer columns than there are numbers.
    """
    for path, weight in model.named_weights():
        weight.path = path
    start = 0
    for layer in layers:
        weight = layer.weight
        _check(weight, numbers)
        rows, width = weight.declared_shape
        weight.columns = slice(start, start + width)
        weight.initializer = weight.whole = _whole(weight, (rows, width))
        weight.declared_shape = (numbers, width)
        start += width
    return start


def initializer(layers: Sequence[Any]) -> ColumnBlocks:
    """Return what the table begins with: in each layer's columns what its whole weight does."""
    return column_blocks([(layer.weight.declared_shape[1], layer.weight.whole) for layer in layers])


def placed(layers: Sequence[Any]) -> dict[str, slice]:
    """Return path of a layer -> its columns of the table."""
    return {layer.weight.path.rpartition(".")[0]: layer.weight.columns for layer in layers}


def product(x: Input, weight: Weight) -> tf.Tensor:
    """Return `x @ W` for the weight of a layer that was placed side by side.

    Raises:
        ValueError: it was not.
    """
    if weight.columns is None:
        raise ValueError(
            f"the weight `{weight.path or 'without a path'}` reads a one-hot input, but it has no columns of the "
            "table: give its layer to one_hot.side_by_side"
        )
    return tf.matmul(x.dense, tf.convert_to_tensor(weight)) + x.embedding[:, weight.columns]


def _check(weight: Weight, numbers: int) -> None:
    what = f"the weight `{weight.path or 'without a path'}`"
    if weight.built:
        raise ValueError(f"{what} is built, so that its rows cannot move: call one_hot.side_by_side before build")
    if weight.columns is not None:
        raise ValueError(f"{what} has columns of the table already: name each layer once")
    if weight.declared_shape[0] < numbers:
        raise ValueError(
            f"{what} has {weight.declared_shape[0]} rows, fewer than the {numbers} columns of numbers in "
            "the input: correct one of the two"
        )


def _whole(weight: Weight, shape: Sequence[int]) -> Any:
    """Return the initializer of a weight, with the fan of the whole one."""
    start = weight.initializer
    return start.stock(shape) if isinstance(start, Initializer) else start
