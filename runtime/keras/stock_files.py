"""Files and checkpoints that the stock layer wrote: row i of its matrix becomes that of id i, or of bucket i."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _tf_private
from runtime.policy.base import put_matrix
from runtime.ranks.process_group import refuse_a_part
from runtime.table.table import Table

#: What the stock layers of Keras 2 and of Keras 3 call their matrix in a checkpoint.
NAMES = ("embeddings", "_embeddings")
_VALUE = "VARIABLE_VALUE"


class StockMatrix(_tf_private.Trackable):  # type: ignore[misc]
    """Stands for the stock layer's variable when a checkpoint of it is restored. It is part of no checkpoint."""

    def __init__(self, table: Table, names: Sequence[str] = NAMES) -> None:
        """Stand for the variable of a table that a checkpoint calls by one of `names`."""
        self._table, self.names = table, names

    def put(self, matrix: Any) -> None:
        """Set the rows of the ids from 0 on; of a table with `base_buckets` those of the buckets.

        Raises:
            ValueError: it is not [ids, dim].
            RanksError: the rows are distributed over several ranks.
        """
        refuse_a_part(self._table.table_name)
        table, shape = self._table, tuple(matrix.shape)
        if len(shape) != 2 or shape[1] != table.dim:
            raise ValueError(
                f"the file has a matrix of shape {list(shape)} for the table `{table.table_name}` of width "
                f"{table.dim}: create the layer with the output_dim that it was saved with"
            )
        put_matrix(table, matrix)
        logging.getLogger("runtime").warning(
            "the rows of the table `%s` are those of a stock layer's file; its optimizer starts without state",
            table.table_name,
        )

    def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
        return {_VALUE: tf.zeros([0, self._table.dim])}  # what is read is called so, and of this type

    def _restore_from_tensors(self, restored: dict[str, tf.Tensor]) -> None:
        self.put(restored[_VALUE])


def expect(layer: Any, variable: Any, names: Sequence[str] = NAMES) -> None:
    """Let a checkpoint of the stock layer, also one that was restored before, fill the table of a variable."""
    variable.stock = StockMatrix(variable.table, names)
    for name in names:
        layer._handle_deferred_dependencies(name, variable.stock)


def named(name: str, weights: Iterable[Any]) -> StockMatrix | None:
    """Return what stands for the stock variable that a checkpoint calls `name`, if it is of one of the weights."""
    matrices = (getattr(weight, "stock", None) for weight in weights)
    return next((one for one in matrices if one is not None and name in one.names), None)


def matrix_in(store: Any) -> Any:
    """Return the matrix in what the stock layer has stored of itself, or None if it is another layer's."""
    return np.asarray(store["0"]) if set(store.keys()) == {"0"} else None
