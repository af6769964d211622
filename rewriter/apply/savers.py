"""Rebuilds SaveV2 and RestoreV2 ops of a live graph with tables in place of their variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from rewriter.analysis.savers import SavedTable, SaverPart
from rewriter.apply.partitions import names_in_checkpoints, row_keys
from rewriter.facts import Table
from runtime.checkpoint.presence import tables_in
from runtime.checkpoint.stock_variable import StockVariable
from runtime.table.clusters.sharded import ShardedTable
from runtime.table.table import Table as RuntimeTable


def let_restore_stock(runtime_table: RuntimeTable, table: Table) -> StockVariable:
    """Let later Savers also restore the table from the variable in a checkpoint of the original model."""
    stock = _stock(runtime_table, table)
    names, slots = names_in_checkpoints(table)
    runtime_table.anchor.reader = lambda prefix, there: stock.read(
        prefix, there, names, slots if stock.optimizer else ()
    )
    return stock


def build_saver(
    graph: tf.Graph, saver: SaverPart, tables: Mapping[str, RuntimeTable], stocks: Mapping[str, StockVariable]
) -> dict[str, tf.Tensor | tf.Operation]:
    """Return the new parts, by the plan's part names."""
    old = graph.get_operation_by_name(saver.op)
    with tf.device(old.device), tf.control_dependencies(old.control_inputs):
        if saver.restores:
            return _restore(old, saver, tables, stocks)
        return {f"saver/{saver.op}": _save(old, saver, tables)}


def _save(old: tf.Operation, saver: SaverPart, tables: Mapping[str, RuntimeTable]) -> tf.Operation:
    entries = [(name, cut, old.inputs[3 + number]) for number, name, cut in saver.kept]
    for saved in saver.tables:
        as_saved, runtime_table = (_own_name(saved), saved.pieces, saved.slots), tables[saved.table]
        if saved.shard is None:
            entries += [(name, "", tensor) for name, tensor in runtime_table.anchor.saved(*as_saved).items()]
        else:
            assert isinstance(runtime_table, ShardedTable)
            entries += runtime_table.pieces(*as_saved)[saved.shard]
    names, cuts, tensors = (list(column) for column in zip(*entries, strict=True))
    return tf.raw_ops.SaveV2(prefix=old.inputs[0], tensor_names=names, shape_and_slices=cuts, tensors=tensors)


def _restore(
    old: tf.Operation,
    saver: SaverPart,
    tables: Mapping[str, RuntimeTable],
    stocks: Mapping[str, StockVariable],
) -> dict[str, tf.Tensor | tf.Operation]:
    """A table that cannot have the checkpoint's rows ends the run before anything is restored."""
    types = old.get_attr("dtypes")
    parts: dict[str, tf.Tensor | tf.Operation] = {}
    there = tables_in(old.inputs[0], [_own_name(saved) for saved in saver.tables])
    read = [
        _read(old.inputs[0], saved, stocks[saved.table], there[number]) for number, saved in enumerate(saver.tables)
    ]
    fit = [
        check
        for saved, tensors in zip(saver.tables, read, strict=True)
        for check in _anchor(tables, saved).checks(tensors[1], tensors[2])
    ]
    for saved, tensors in zip(saver.tables, read, strict=True):
        anchor = _anchor(tables, saved)
        rows_alone = stocks[saved.table].starts and not saved.slots
        with tf.control_dependencies(fit):
            parts[f"{saved.table}/restore/{saver.op}"] = (
                anchor.set_rows(tensors[1], tensors[2], tensors[4]) if rows_alone else anchor.restore(tensors, None)
            )
    if saver.kept:
        names, cuts, kinds = zip(*((name, cut, types[number]) for number, name, cut in saver.kept), strict=True)
        with tf.control_dependencies(list(parts.values())):
            restored = tf.raw_ops.RestoreV2(
                prefix=old.inputs[0], tensor_names=list(names), shape_and_slices=list(cuts), dtypes=list(kinds)
            )
        parts |= {f"saver/{saver.op}/{number}": one for (number, _, _), one in zip(saver.kept, restored, strict=True)}
    # Ops that waited for the old op must wait until the files are read.
    parts[f"saver/{saver.op}"] = restored[0].op if saver.kept else there[0].op
    return parts


def _anchor(tables: Mapping[str, RuntimeTable], saved: SavedTable) -> Any:
    """Return what the rows that an op restores belong to: a table, or one of its shards."""
    anchor = tables[saved.table].anchor
    return anchor if saved.shard is None else anchor.of_shard(saved.shard)


def _read(prefix: tf.Tensor, saved: SavedTable, stock: StockVariable, is_table: tf.Tensor) -> list[tf.Tensor]:
    # Some slots alone say nothing of a row; without any, the Saver leaves slots as they are.
    slots = saved.slots if len(saved.slots) == len(stock.starts) else ()
    return stock.read(prefix, is_table, saved.pieces, slots)


def _own_name(saved: SavedTable) -> str:
    """The name in the checkpoint of the variable itself, or of its first part."""
    return saved.pieces[0]


def _stock(runtime_table: RuntimeTable, table: Table) -> StockVariable:
    """Return the stock variable with its optimizers."""
    rule = "+".join(one.rule for one in table.optimizers) or None
    return StockVariable(runtime_table, table.shape, rule, table.starts, lambda: row_keys(table))
