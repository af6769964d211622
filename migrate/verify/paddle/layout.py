"""Splits weights that read the raw input of a Paddle model: dense features into kernels, categories into tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.schema import InputSpec

Array = NDArray[Any]


def dense_of(name: str) -> str:
    """Return the name of the rows of a weight that the converted model has as a variable."""
    return f"{name} [dense]"


def table_of(name: str) -> str:
    """Return the name of the rows of a weight that the converted model has as columns of a table."""
    return f"{name} [table]"


class Layout:
    """Which rows of the original's weights each weight of the converted model has."""

    def __init__(self, spec: InputSpec, split: Mapping[str, str]) -> None:
        """Take the input, and the weights that read it with the table that has their columns."""
        self.spec, self.split = spec, split
        self.tables = {table_of(name): table for name, table in split.items()}

    def parts(self, name: str) -> dict[str, tuple[int, ...] | None]:
        """Return the parts of a weight with their rows, or with None where the weight is whole."""
        if name not in self.split:
            return {name: None}
        dense = {dense_of(name): tuple(self.spec.dense_columns)} if self.spec.dense_size else {}
        return {**dense, table_of(name): tuple(self.spec.key_columns)}

    def parted(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return weights of the original, gradients of them, or what else is known of them, by part."""
        return {
            part: value[list(rows)] if rows is not None and isinstance(value, np.ndarray) else value
            for name, value in values.items()
            for part, rows in self.parts(name).items()
        }

    def touched(self, ids: Array) -> Array:
        """Return a mask [rows] of the keys that the ids [B, S] of a batch look up."""
        mask = np.zeros(self.spec.rows, bool)
        mask[(ids + np.array(self.spec.offsets, np.int64)).reshape(-1)] = True
        return mask
