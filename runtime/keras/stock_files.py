"""Files and checkpoints that the stock layer wrote: row i of its matrix becomes that of id i, or of bucket i."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _tf_private, native
from runtime.checkpoint.rows import optimizer_kind
from runtime.optimizers._base import TableOptimizer
from runtime.policy.base import put_matrix
from runtime.ranks.process_group import refuse_a_part
from runtime.table.table import Table

_log = logging.getLogger("runtime")
#: What the stock layers of Keras 2 and of Keras 3 call their matrix in a checkpoint.
NAMES = ("embeddings", "_embeddings")
_VALUE = "VARIABLE_VALUE"


class StockMatrix(_tf_private.Trackable):  # type: ignore[misc]
    """Stands for the stock layer's variable when a checkpoint of it is restored. It is part of no checkpoint."""

    def __init__(self, table: Table, names: Sequence[str] = NAMES) -> None:
        """Stand for the variable of a table that a checkpoint calls by one of `names`."""
        self.table, self.names = table, names
        self._form: TableOptimizer | None = None
        self._waiting: dict[int, tf.Tensor] = {}
        self._said_without = False

    def put(self, matrix: Any) -> None:
        """Set the rows of the ids from 0 on; of a table with `base_buckets` those of the buckets.

        Raises:
            ValueError: it is not [ids, dim].
            RanksError: the rows are distributed over several ranks.
        """
        table = self.table
        refuse_a_part(table.table_name)
        self._require_width(matrix)
        put_matrix(table, matrix)
        self._said_without = self._form is None
        _log.warning(
            "the rows of the table `%s` are those of a stock layer's file; its optimizer %s",
            table.table_name,
            "starts without state" if self._said_without else "has its state",
        )
        self._put_slots()

    def slot(self, number: int, form: TableOptimizer, sign: float) -> StockSlot:
        """Return what stands for a slot of the variable, if `form` is the native form of its optimizer.

        `sign` is that of the slot where the one of the table is positive.
        """
        self._form = form
        return StockSlot(self, number, sign)

    def put_slot(self, number: int, matrix: Any) -> None:
        """Set a slot of the rows, now or with the matrix."""
        self._require_width(matrix)
        self._waiting[number] = matrix
        if self._said_without:
            _log.warning("the optimizer of the table `%s` has the slots of a stock layer's file", self.table.table_name)
            self._said_without = False
        self._put_slots()

    def _require_width(self, matrix: Any) -> None:
        table, shape = self.table, tuple(matrix.shape)
        if len(shape) != 2 or shape[1] != table.dim:
            raise ValueError(
                f"the file has a matrix of shape {list(shape)} for the table `{table.table_name}` of width "
                f"{table.dim}: create the layer with the output_dim that it was saved with"
            )

    def _put_slots(self) -> None:
        """Give the rows the slots that wait for them, once all rows are there; other slots of a row stay."""
        if not self._waiting:
            return
        assert self._form is not None
        table, starts = self.table, np.array(self._form.starts, np.float32)
        count = len(next(iter(self._waiting.values())))
        keys, values, slots, meta = (part.numpy() for part in table.snapshot())
        places = keys - table.first_key
        chosen = np.flatnonzero((places >= 0) & (places < count))
        if len(chosen) < count:
            return
        kind = optimizer_kind(self._form.rule)
        if meta[4] == kind:
            parts = slots[chosen].reshape(count, len(starts), table.dim)
        else:
            parts = np.tile(starts[:, None], (count, 1, table.dim))
        for number, matrix in self._waiting.items():
            parts[:, number] = np.asarray(matrix)[places[chosen]]
        self._waiting.clear()
        head = [2, table.seed, table.dim, len(starts), kind, *starts.view(np.uint32).astype(np.int64)]
        rows = (keys[chosen], values[chosen], parts.reshape(count, -1))
        with table.written(), table.whole_on_host():
            native.ops().rec_table_merge(table.handle, *rows, tf.constant(head, tf.int64), counters=False)

    def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
        return {_VALUE: tf.zeros([0, self.table.dim])}  # what is read is called so, and of this type

    def _restore_from_tensors(self, restored: dict[str, tf.Tensor]) -> None:
        self.put(restored[_VALUE])


class StockSlot(_tf_private.Trackable):  # type: ignore[misc]
    """Stands for a slot of the stock layer's variable in the same way."""

    def __init__(self, of: StockMatrix, number: int, sign: float) -> None:
        """Stand for the slot `number` of the rows; call `StockMatrix.slot` instead."""
        self._of, self._number, self._sign = of, number, sign

    def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
        return self._of._serialize_to_tensors()

    def _restore_from_tensors(self, restored: dict[str, tf.Tensor]) -> None:
        matrix = restored[_VALUE] * self._sign
        self._of.put_slot(self._number, tf.expand_dims(matrix, 1) if matrix.shape.rank == 1 else matrix)


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
