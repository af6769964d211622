"""Warm start: fills a table from a stock variable of an ordinary checkpoint, with its optimizer slots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf

from runtime import native
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.presence import restored
from runtime.checkpoint.rows import optimizer_kind, optimizer_slots, part_names, table_names
from runtime.checkpoint.variable_names import find_slots, find_variable
from runtime.table.table import Table

# Number of rows written at once, to limit the memory for copies.
_CHUNK = 1 << 16


def warm_start(
    table: Table,
    path: str | Path,
    variable_name: str | None = None,
    slots: Mapping[str, str] | None = None,
    key_offset: int = 0,
    optimizer: str | None = None,
) -> tf.Operation | None:
    """Fill `table` from a variable [rows, dim]: key `key_offset + i` gets row i. Other rows are not changed.

    Of a table with `base_buckets`, the rows become those of its buckets.

    Args:
        table: the table to fill.
        path: prefix of the checkpoint, or a directory.
        variable_name: the variable's name in the checkpoint or in its program; default: the table's name.
        slots: map from slots to tensors of the checkpoint, such as `{"m": "user/Adam", "v": "user/Adam_1"}`. By
            default, slots are found by the usual names of v1 and Keras optimizers; if there are none, or with `{}`, the
            table's slots start afresh.
        key_offset: key, or bucket, of the first row.
        optimizer: the optimizer that trains the table; default: the one that updates it in this graph.

    Returns:
        In a v1 graph, an op that reads the file when it runs. Run it after the init op, as in
        `Scaffold(init_fn=lambda _, session: session.run(op))`. In eager mode, None; the rows are there on return.

    Raises:
        CheckpointError: there is no such checkpoint, variable or tensor (the message lists similar names), or a shape
            is wrong.
        ValueError: slots are given, but the optimizer that they belong to is unknown.
    """
    bundle = Bundle(path)
    variable = find_variable(bundle, variable_name or table.table_name)
    _check_stock(table, bundle, variable)
    if len(bundle.shapes[variable]) != 2 or bundle.shapes[variable][1] != table.dim:
        raise CheckpointError(
            f"`{variable}` of {bundle.path} has shape {bundle.shapes[variable]}, but the table `{table.table_name}` "
            f"has rows of {table.dim}: {_of_width(bundle, table.dim)}"
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
            raise CheckpointError(f"`{tensor}` of {bundle.path} is not a slot of `{variable}`: it has another shape")
    filled = [_fill(part, bundle, tensors, key_offset, kind if slots else None) for part in table.parts or [table]]
    return None if tf.executing_eagerly() else tf.group(*filled)


def _check_stock(table: Table, bundle: Bundle, variable: str) -> None:
    """Check that `variable` is not a part of a table, in which row i does not belong to key i."""
    parts = {part: name for name in table_names(bundle) for part in part_names(bundle, name).values()}
    if variable in parts or bundle.shapes[variable][:1] == [0] or bundle.types[variable] == tf.string:
        owner = (
            f"is a part of the table `{parts[variable]}`"
            if variable in parts
            else "holds no rows, as it is the anchor of a table"
        )
        raise CheckpointError(
            f"`{variable}` of {bundle.path} {owner}; `{table.table_name}` would get no rows or wrong keys from "
            "that variable: fill the table with restore_table(table, path, name=…)"
        )


def _fill(table: Table, bundle: Bundle, names: list[str], offset: int, kind: str | None) -> tf.Operation | None:
    with table.scope("warm_start"), table.written():
        parts = restored(bundle.path, names, [bundle.types[name] for name in names])
        rows = tf.shape(parts[0], tf.int64)[0]

        def write(start: tf.Tensor) -> list[tf.Tensor]:
            stop = tf.minimum(start + _CHUNK, rows)
            keys = tf.range(start, stop) + (offset + table.first_key)
            values, *slots = [tf.cast(part[start:stop], tf.float32) for part in parts]
            with tf.control_dependencies([_write(table, keys, values, slots, kind)]):
                return [tf.identity(stop)]

        written = tf.while_loop(lambda start: start < rows, write, [tf.constant(0, tf.int64)], parallel_iterations=1)
        return None if tf.executing_eagerly() else written[0].op


def _write(table: Table, keys: tf.Tensor, values: tf.Tensor, slots: list[tf.Tensor], kind: str | None) -> tf.Operation:
    keys, values, *slots = table.own(keys, values, *slots)
    if kind is None:
        return native.ops().rec_table_upsert(table.handle, keys, values)
    meta = np.array([1, table.seed, table.dim, len(slots), optimizer_kind(kind), 0], np.int64)
    return native.ops().rec_table_merge(table.handle, keys, values, tf.concat(slots, 1), meta)


def _trained_by(table: Table) -> str | None:
    """Return the optimizer that updates `table` in its graph, None when none does."""
    optimizers = {_optimizer_of(op) for part in table.parts or [table] for op in part.updates}
    if len(optimizers) > 1:
        raise ValueError(
            f"the table `{table.table_name}` is trained by {sorted(optimizers)}: choose one with `optimizer`"
        )
    return optimizers.pop() if optimizers else None


def _optimizer_of(update: tf.Operation) -> str:
    named = {"RecApplySgd": "sgd", "RecApplyAdagrad": "adagrad", "RecApplyLazyAdam": "lazy_adam"}
    return named.get(update.type) or str(update.get_attr("optimizer").decode())


def _of_width(bundle: Bundle, dim: int) -> str:
    names = [name for name, shape in sorted(bundle.shapes.items()) if len(shape) == 2 and shape[1] == dim]
    return f"tensors of that width: {', '.join(names[:5])}" if names else "no tensor there has that width"
