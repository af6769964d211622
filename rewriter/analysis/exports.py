"""Graphs beside the trained one: those that an Estimator exports, and those that take a variable whole."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from typing import Any

import tensorflow as tf

from rewriter.analysis.candidates import VARIABLES
from rewriter.analysis.savers import restored_by
from rewriter.graph.view import GraphView
from runtime._tf_private_estimator import extend_exports
from runtime.checkpoint.variables_from_tables import restore_from_tables

__all__ = ["let_restore_whole", "prepare_exports"]

_log = logging.getLogger("rewriter")
_ASSIGNMENTS = ("AssignVariableOp", "Assign")
_WRITES = ("Assign", "Scatter", "Apply", "SparseApply", "ResourceScatter", "ResourceApply", "ResourceSparseApply")


def let_restore_whole(graph: tf.Graph, view: GraphView, moved: Collection[str]) -> None:
    """Let Savers that are built later read variables [rows, dim] that the graph does not train also from tables."""
    restore_from_tables(graph, {name: shape for name, shape in _untrained(view) if name not in moved})


def _untrained(view: GraphView) -> Iterator[tuple[str, tuple[int, int]]]:
    for name in view.of_type(*VARIABLES):
        shape = tf.TensorShape(view.attribute(name, "shape").shape)
        is_float = view.attribute(name, "dtype").type == tf.float32.as_datatype_enum
        if is_float and shape.rank == 2 and shape.is_fully_defined() and not _trained(view, name):
            yield name, (int(shape[0]), int(shape[1]))


def _trained(view: GraphView, name: str) -> bool:
    writes = (use.op for use in view.users(name) if use.input == 0 and view.type(use.op).startswith(_WRITES))
    return not all(_starts(view, name, op) for op in writes)


def _starts(view: GraphView, name: str, op: str) -> bool:
    """Whether an op gives a variable its first value, or that of a checkpoint."""
    return view.type(op) in _ASSIGNMENTS and (view.initializers.get(name) == op or bool(restored_by(view, op)))


def prepare_exports(rewrite: Callable[..., Any]) -> None:
    """Let the graphs that Estimators export be rewritten by `rewrite` for the checkpoint that they are exported with.

    What is a table there moves, where it can; what does not is read from the table.
    """

    def prepare(graph: tf.Graph, path: str) -> None:
        reader = tf.train.load_checkpoint(path)
        texts = [name for name, kind in reader.get_variable_to_dtype_map().items() if kind == tf.string]
        held = {name for name in texts if reader.has_tensor(f"{name}-keys")}
        if held:
            wanted = [table.name for table in rewrite(graph, dry_run=True).tables if table.name in held]
            for line in rewrite(graph, wanted).summary().splitlines():
                _log.info("for the export: %s", line)

    extend_exports(prepare)
