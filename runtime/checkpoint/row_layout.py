"""How a variable, and each of its slots, lies in the rows of the table that replaced it, as checkpoints of it say.

The string that is saved under the variable's name explains itself to readers that know no tables; a line of JSON below
that says which names the table stands for, so that each can be read as the array that the original model has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.presence import restored
from runtime.table.clusters.servers import ROWS


@dataclass(frozen=True)
class Column:
    """A variable or a slot whose values are in rows of `table`: those of column `number`, where 0 is the value.

    `runs` are (first id, step, count) of the rows in their order; None: all ids there are, from 0 on. `start` is what a
    slot begins with.
    """

    table: str
    number: int = 0
    start: float = 0.0
    row: tuple[int, ...] | None = None
    runs: tuple[tuple[int, int, int], ...] | None = None

    def shape(self, shapes: Mapping[str, list[int]]) -> list[int]:
        """Return the shape of the array, given those of the tensors of the checkpoint."""
        rows, dim = shapes[f"{self.table}-values"]
        if self.runs is not None:
            rows = sum(count for *_, count in self.runs)
        return [rows, *((dim,) if self.row is None else self.row)]

    def ids(self, rows: int) -> NDArray[np.int64]:
        """Return the id of each row of the array, for a table of so many rows."""
        runs = ((0, 1, rows),) if self.runs is None else self.runs
        return np.concatenate([first + step * np.arange(count, dtype=np.int64) for first, step, count in runs])


def columns_of(shapes: Mapping[str, list[int]], text_of: Callable[[str], bytes]) -> dict[str, Column]:
    """Return name -> column of each variable and slot of a checkpoint that tables have replaced.

    `shapes` are those of the checkpoint's tensors, of which `text_of` returns a string.
    """
    tables = [name for name, shape in shapes.items() if shape == [] and all(f"{name}{part}" in shapes for part in ROWS)]
    return {name: column for table in tables for name, column in _columns(table, text_of(table))}


def stated(bundle: Bundle, table: str) -> dict[int, tuple[str, list[int]]]:
    """Return 0 and the number of each slot -> the name and shape that a checkpoint states for a table in its place.

    Empty where it states none, or the variable has partitions.
    """
    if bundle.shapes.get(table) != []:
        return {}
    columns = [(name, one) for name, one in _columns(table, bundle.read(table).item()) if one.row is not None]
    by_number = {one.number: (name, one.shape(bundle.shapes)) for name, one in columns}
    return by_number if len(by_number) == len(columns) else {}


def _columns(table: str, text: Any) -> Iterator[tuple[str, Column]]:
    if not isinstance(text, bytes):
        return
    _, _, below = text.partition(b"\n")
    if not below:
        yield table, Column(table)
        return
    layout = json.loads(below)
    for name, number, start, runs in layout["columns"]:
        yield name, Column(table, number, start, tuple(layout["row"]), tuple(map(tuple, runs)))


def read_column(name: str, column: Column, read: Callable[[str], NDArray[Any]], grown: bool = False) -> NDArray[Any]:
    """Return the array that a variable or a slot would be; `read` returns a tensor of the checkpoint.

    Raises:
        CheckpointError: the table lacks a row, or has further ones, unless it may have `grown`.
    """
    table, keys = column.table, read(f"{column.table}-keys")
    ids, order = column.ids(len(keys)), np.argsort(keys)
    at = np.minimum(np.searchsorted(keys[order], ids), max(len(keys) - 1, 0))
    known = len(keys) >= len(ids) and np.array_equal(keys[order][at], ids)
    if not known or (len(keys) > len(ids) and not grown):
        raise CheckpointError(
            f"`{name}` has become a table whose ids are not 0 to {len(keys) - 1}, so it cannot be read as an array of "
            f"rows: read `{table}-values`, in the order of `{table}-keys`"
        )
    stored = read(f"{table}-values" if column.number == 0 else f"{table}-slots")
    dim = int(read(f"{table}-meta")[2])
    rows = _part(stored, column, dim)
    shape = column.shape({f"{table}-values": [len(keys), dim]})
    return np.full(shape, column.start, np.float32) if rows is None else rows[order][at].reshape(shape)


def _part(stored: Any, column: Column, dim: int) -> Any:
    """Return the columns of the slot among all slots; None if the table was not trained yet and has none."""
    if column.number == 0:
        return stored
    first = (column.number - 1) * dim
    return stored[:, first : first + dim] if stored.shape[1] >= first + dim else None


def restored_column(path: str, name: str, column: Column, shapes: Mapping[str, list[int]]) -> tf.Tensor:
    """Return ops that read what `read_column` does, when they run."""
    table, shape, slots = column.table, column.shape(shapes), shapes[f"{column.table}-slots"]
    dim = shapes[f"{table}-values"][1]
    if column.number and slots[1] < column.number * dim:
        return tf.fill(shape, column.start)
    wanted = [f"{table}-keys", f"{table}-slots" if column.number else f"{table}-values"]
    keys, stored = restored(path, wanted, [tf.int64, tf.float32])
    ids, order = tf.constant(column.ids(shapes[f"{table}-keys"][0])), tf.argsort(keys)
    ordered = tf.gather(keys, order)
    at = tf.minimum(tf.searchsorted(ordered, ids), tf.size(keys) - 1)
    message = f"the table `{name}` of {path} does not have all {shape[0]} rows of the variable that it replaced"
    complete = tf.raw_ops.Assert(condition=tf.reduce_all(tf.equal(tf.gather(ordered, at), ids)), data=[message])
    with tf.control_dependencies([complete]):
        rows = tf.gather(stored, tf.gather(order, at))
    part = _part(tf.ensure_shape(rows, [shape[0], max(slots[1], dim) if column.number else dim]), column, dim)
    return tf.reshape(part, shape)
