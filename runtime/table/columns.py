"""Tables that are cut by columns: each rank has some columns of all rows, as a table of its own."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation, initializers
from runtime.ranks import process_group
from runtime.table import arguments as table_arguments
from runtime.table.create import create_table
from runtime.table.table import Table

_PLANNED = re.compile(r"columns:\d+")


class ColumnTable(_tf_private.Parent):
    """A table whose columns are cut into parts, equally wide; part i lies on rank i mod ranks.

    `tf.train.Checkpoint` and `runtime.ranks.checkpoint` save and restore it, with any number of ranks, by its parts.

    Attributes:
        table_name: as given.
        dim: values of a whole row.
        tables: the parts from left to right, which are ordinary tables.
    """

    def __init__(self, name: str, tables: list[Table]) -> None:
        """Take the parts; call `create_column_table` instead."""
        self.table_name, self.tables = name, tables
        self.dim = sum(table.dim for table in tables)

    @property
    def variables(self) -> list[Any]:
        """The variables of the parts, to take gradients for and to give to an optimizer."""
        return [table.variable for table in self.tables]

    def children(self) -> dict[str, Any]:
        """Return the parts by their names in checkpoints."""
        return {f"columns_{i}": table for i, table in enumerate(self.tables)}

    def pairs(self, ids: Any) -> list[tuple[Table, Any]]:
        """Return the lookups of ids in the parts, for `grouped_lookup` with other tables; `joined` takes its rows."""
        return [(table, ids) for table in self.tables]

    def joined(self, rows: Any) -> Any:
        """Return whole rows, given those of the parts."""
        return tf.concat(rows, -1)

    def import_rows(self, keys: Any, values: Any) -> Any:
        """Insert or overwrite rows: keys int64 [n], values float32 [n, dim]; see `Table.import_rows`.

        Raises:
            ValueError: keys are not integers, or shapes do not match.
        """
        values = _validation.tensor("values", f"of rows for the table `{self.table_name}`", values, tf.float32)
        if not values.shape.is_compatible_with([None, self.dim]):
            raise ValueError(
                f"`values` of rows for the table `{self.table_name}` have shape {values.shape}: they must be "
                f"[n, {self.dim}]"
            )
        parts = tf.split(values, len(self.tables), 1)
        ops = [table.import_rows(keys, part) for table, part in zip(self.tables, parts, strict=True)]
        return None if tf.executing_eagerly() else tf.group(ops)


@_tf_private.as_written
def create_column_table(
    key_dtype: Any,
    dim: int,
    name: str,
    emb_initializer: Any,
    parts: int | str,
    device_vocabulary_size: int = 1,
    **more: Any,
) -> ColumnTable:
    """Create a table that is cut by columns into `parts` of equal width, for `column_lookup`.

    Ids of a batch go to all parts, and of bags each part returns its columns of the sum. It restores with another
    number of ranks where `parts` is the same. Rows begin by the distribution of `emb_initializer`, but with other draws
    than a table of whole rows has. Optimizers that treat each value by itself, all but FTRL's term on norms of rows,
    train it.

    Args:
        key_dtype: tf.int64 or tf.int32.
        dim: values of a whole row, a multiple of `parts`.
        name: of the table; its parts are `<name>_columns_<i>`.
        emb_initializer: a TensorFlow or Keras initializer, or `column_blocks`.
        parts: into how many, such as the number of ranks; or the placement of a plan, as "columns:4".
        device_vocabulary_size: see `create_table`.
        more: further arguments of `create_table`, but for `placement` and `device`.

    Raises:
        ValueError: `parts` does not divide `dim`, or see `create_table`.
    """
    if isinstance(parts, str) and _PLANNED.fullmatch(parts):
        parts = int(parts.partition(":")[2])
    parts = _validation.integer("parts", parts, 1)
    _validation.integer("dim", dim, 1)
    if dim % parts:
        raise ValueError(f"`parts` {parts} does not divide dim {dim} of the table `{name}`: choose one that does")
    for argument in ("placement", "device"):
        if argument in more:
            raise ValueError(
                f"create_column_table has no argument `{argument}`, as each part lies in the memory of a rank: "
                "leave it out"
            )
    whole = table_arguments.table_name(name)
    initial = initializers.column_parts(emb_initializer, device_vocabulary_size, dim, parts)
    tables = []
    for i, own in enumerate(initial):
        placement = f"localized:{i % process_group.size()}"
        table = create_table(
            key_dtype, dim // parts, f"{whole}_columns_{i}", own, device_vocabulary_size, placement=placement, **more
        )
        table.arguments = dataclasses.replace(table.arguments, columns_of=whole)
        tables.append(table)
    return ColumnTable(whole, tables)
