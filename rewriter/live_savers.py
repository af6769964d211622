"""Builds a SaveV2 or RestoreV2 of a live graph anew, with tables in the place of their variables."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

from rewriter.facts import Table
from rewriter.savers import SavedTable, SaverPart
from runtime.checkpoint.stock import StockVariable
from runtime.table import Table as RuntimeTable

__all__ = ["build_saver", "let_restore_stock"]


def let_restore_stock(made: RuntimeTable, table: Table) -> StockVariable:
    """Let Savers built from now on read what the variable left in a checkpoint, too."""
    stock = _stock(made, table)
    slots = table.variables[1:] if stock.optimizer else ()
    made.variable.reader = lambda prefix, first: stock.read(prefix, first, table.name, slots)
    return stock


def build_saver(
    graph: tf.Graph, saver: SaverPart, tables: Mapping[str, RuntimeTable], stocks: Mapping[str, StockVariable]
) -> dict[str, tf.Tensor | tf.Operation]:
    """Return the new parts, by the names that the plan calls them."""
    old = graph.get_operation_by_name(saver.op)
    with tf.device(old.device), tf.control_dependencies(old.control_inputs):
        if saver.restores:
            return _restore(old, saver, tables, stocks)
        return {f"saver/{saver.op}": _save(old, saver, tables)}


def _save(old: tf.Operation, saver: SaverPart, tables: Mapping[str, RuntimeTable]) -> tf.Operation:
    entries = [(name, cut, old.inputs[3 + number]) for number, name, cut in saver.kept]
    for saved in saver.tables:
        parts = tables[saved.table].variable.saved(_own_name(saved))
        entries += [(name, "", tensor) for name, tensor in parts.items()]
    names, cuts, tensors = (list(column) for column in zip(*entries, strict=True))
    return tf.raw_ops.SaveV2(prefix=old.inputs[0], tensor_names=names, shape_and_slices=cuts, tensors=tensors)


def _restore(
    old: tf.Operation,
    saver: SaverPart,
    tables: Mapping[str, RuntimeTable],
    stocks: Mapping[str, StockVariable],
) -> dict[str, tf.Tensor | tf.Operation]:
    types = old.get_attr("dtypes")
    entries = [(name, cut, types[number]) for number, name, cut in saver.kept]
    entries += [(_own_name(saved), "", tf.float32) for saved in saver.tables]
    names, cuts, kinds = (list(column) for column in zip(*entries, strict=True))
    restored = tf.raw_ops.RestoreV2(prefix=old.inputs[0], tensor_names=names, shape_and_slices=cuts, dtypes=kinds)
    parts = {f"saver/{saver.op}/{number}": one for (number, _, _), one in zip(saver.kept, restored, strict=False)}
    parts[f"saver/{saver.op}"] = restored[0].op
    for saved, first in zip(saver.tables, restored[len(saver.kept) :], strict=True):
        stock = stocks[saved.table]
        tensors = stock.read(old.inputs[0], first, _own_name(saved), _slot_names(saved, stock))
        parts[f"{saved.table}/restore/{saver.op}"] = tables[saved.table].variable.restore(tensors, None)
    return parts


def _own_name(saved: SavedTable) -> str:
    """The name of the variable itself in the checkpoint; the first, since a table's variables begin with it."""
    return saved.names[0]


def _slot_names(saved: SavedTable, stock: StockVariable) -> tuple[str, ...]:
    """The names of all slots, or none: those of a Saver that leaves some out start afresh."""
    return saved.names[1:] if len(saved.names) - 1 == len(stock.starts) else ()


def _stock(made: RuntimeTable, table: Table) -> StockVariable:
    """Say what trains the table, unless several do: then nobody knows what its slots are."""
    updates = {(update.rule, update.slots, update.starts) for update in table.updates}
    rule, _, starts = next(iter(updates)) if len(updates) == 1 else (None, (), ())
    return StockVariable(made, table.rows, rule, starts)
