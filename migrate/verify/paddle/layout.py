"""Maps rows of Paddle kernels to the converted model: dense features to kernels, categories to the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.schema import InputSpec

Array = NDArray[Any]


class Layout:
    """Maps parameters to their parts: `whole`, or `dense` and `sparse` of a layer that reads the raw input."""

    def __init__(self, spec: InputSpec, layers: Mapping[str, slice]) -> None:
        """Store the columns in the table of each layer that reads the raw input, by its path."""
        self.spec = spec
        self.columns = {path + ".weight": columns for path, columns in layers.items()}

    def parts(self, name: str) -> list[tuple[str, str]]:
        """Return (label, part) of each part of a parameter."""
        if name not in self.columns:
            return [(name, "whole")]
        dense = [(f"{name} [dense]", "dense")] if self.spec.dense_size else []
        return [*dense, (f"{name} [table]", "sparse")]

    def of_original(self, name: str, part: str, value: Array) -> Array:
        """Return the part of a Paddle parameter or of its gradient."""
        if part == "whole":
            return value
        rows = self.spec.dense_columns if part == "dense" else self.spec.key_columns
        return value[list(rows)]

    def of_converted(self, name: str, part: str, dense: Mapping[str, Array], rows: Array) -> Array:
        """Return the part of a converted parameter: a dense variable, or columns of the table's rows."""
        return self.of_table(name, rows) if part == "sparse" else dense[name]

    def start(self, name: str) -> int:
        """Return the first column of a parameter in the table."""
        return int(self.columns[name].start)

    def of_table(self, name: str, rows: Array) -> Array:
        """Return the columns of the table's rows [keys, dim] that belong to a parameter."""
        return rows[:, self.columns[name]]

    def touched(self, ids: Array) -> Array:
        """Return a mask [rows] of the keys that the ids [B, S] of a batch look up."""
        mask = np.zeros(self.spec.rows, bool)
        mask[(ids + np.array(self.spec.offsets, np.int64)).reshape(-1)] = True
        return mask
