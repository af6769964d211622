"""Warm start: the rows of a table from a stock variable of an ordinary checkpoint, its optimizer slots included."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf

from runtime import native
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.rows import optimizer_kind, optimizer_slots, part_names, table_names
from runtime.checkpoint.variable_names import find_slots, find_variable
from runtime.table.table import Table

__all__ = ["warm_start"]

# Rows written at once: what is copied for them, beside the variable and the table, stays small.
_CHUNK = 1 << 16


def warm_start(
    table: Table,
    path: str | Path,
    variable_name: str | None = None,
    slots: Mapping[str, str] | None = None,
    key_offset: int = 0,
    optimizer: str | None = None,
) -> tf.Operation | None:
    """Fill `table` from a variable [rows, dim]: key `key_offset + i` gets row i. Other rows of the table stay.

    `variable_name` (default: the table's) is a name of the checkpoint, or that of the variable in its program. `slots`
    maps slots to tensors of the checkpoint, as `{"m": "user/Adam", "v": "user/Adam_1"}`; by default those that bear the
    usual names of v1 and Keras optimizers are found, and where there are none the table's slots start afresh, as with
    `{}`. `optimizer` is what the table is trained with (default: the optimizer that updates it in this graph).

    In a v1 graph the result is an op that reads the file when it runs: after the init op, as in
    `Scaffold(init_fn=lambda _, session: session.run(op))`. In eager mode the rows are there on return.

    Raises:
        CheckpointError: no such checkpoint, variable or tensor (the message lists near names), or a wrong shape.
        ValueError: slots without an optimizer that they belong to.
    """
    bundle = Bundle(path)
    variable = find_variable(bundle, variable_name or table.table_name)
    _check_stock(table, bundle, variable)
    if len(bundle.shapes[variable]) != 2 or bundle.shapes[variable][1] != table.dim:
        raise CheckpointError(
            f"`{variable}` of {bundle.path} has shape {bundle.shapes[variable]} and the table `{table.table_name}` "
            f"rows of {table.dim}: {_of_width(bundle, table.dim)}"
        )
    kind = optimizer or _trained_by(table)
    names = optimizer_slots(kind) if kind else ()
    if slots is None:
        slots = find_slots(bundle, variable, kind, names) if kind else {}
    elif set(slots) not in (set(), set(names)):
        raise ValueError(
            f"`slots` of the table `{table.table_name}` are {sorted(slots)}; its optimizer "
            f"{kind or '(none in this graph: give `optimizer`)'} has {sorted(names)}"
        )
    tensors = [variable, *(find_variable(bundle, slots[name]) for name in names if slots)]
    for tensor in tensors:
        if bundle.shapes[tensor] != bundle.shapes[variable]:
            raise CheckpointError(f"`{tensor}` of {bundle.path} has not the shape of `{variable}`: it is no slot of it")
    return _fill(table, bundle, tensors, key_offset, kind if slots else None)


def _check_stock(table: Table, bundle: Bundle, variable: str) -> None:
    """Check that `variable` is no part of a table, whose row i is not key i."""
    parts = {part: name for name in table_names(bundle) for part in part_names(bundle, name).values()}
    if variable in parts or bundle.shapes[variable][:1] == [0] or bundle.types[variable] == tf.string:
        owner = (
            f"is a part of the table `{parts[variable]}`"
            if variable in parts
            else "holds no rows, as the variable that stands for a table does"
        )
        raise CheckpointError(
            f"`{variable}` of {bundle.path} {owner}, and `{table.table_name}` would get no row or wrong keys of it: "
            "fill the table with restore_table(table, path, name=…)"
        )


def _fill(table: Table, bundle: Bundle, names: list[str], offset: int, kind: str | None) -> tf.Operation | None:
    with table.scope("warm_start"), table.written():
        types = [bundle.types[name] for name in names]
        parts = tf.raw_ops.RestoreV2(
            prefix=bundle.path, tensor_names=names, shape_and_slices=[""] * len(names), dtypes=types
        )
        rows = tf.shape(parts[0], tf.int64)[0]

        def write(start: tf.Tensor) -> list[tf.Tensor]:
            stop = tf.minimum(start + _CHUNK, rows)
            keys = tf.range(start, stop) + offset
            values, *slots = [tf.cast(part[start:stop], tf.float32) for part in parts]
            with tf.control_dependencies([_write(table, keys, values, slots, kind)]):
                return [tf.identity(stop)]

        written = tf.while_loop(lambda start: start < rows, write, [tf.constant(0, tf.int64)], parallel_iterations=1)
        return None if tf.executing_eagerly() else written[0].op


def _write(table: Table, keys: tf.Tensor, values: tf.Tensor, slots: list[tf.Tensor], kind: str | None) -> tf.Operation:
    if kind is None:
        return native.ops().rec_table_upsert(table.handle, keys, values)
    meta = np.array([1, table.seed, table.dim, len(slots), optimizer_kind(kind), 0], np.int64)
    return native.ops().rec_table_merge(table.handle, keys, values, tf.concat(slots, 1), meta)


def _trained_by(table: Table) -> str | None:
    """Return the optimizer that updates `table` in its graph, None when none does."""
    found = {_optimizer_of(op) for op in table.updates}
    if len(found) > 1:
        raise ValueError(f"the table `{table.table_name}` is trained by {sorted(found)}: say which with `optimizer`")
    return found.pop() if found else None


def _optimizer_of(update: tf.Operation) -> str:
    named = {"RecApplySgd": "sgd", "RecApplyAdagrad": "adagrad", "RecApplyLazyAdam": "lazy_adam"}
    return named.get(update.type) or str(update.get_attr("optimizer").decode())


def _of_width(bundle: Bundle, dim: int) -> str:
    names = [name for name, shape in sorted(bundle.shapes.items()) if len(shape) == 2 and shape[1] == dim]
    return f"of that width are {', '.join(names[:5])}" if names else "no tensor there has that width"
