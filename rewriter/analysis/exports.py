"""Graphs other than the training graph: exports of an Estimator, and graphs that use a whole variable."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import tensorflow as tf

from rewriter.analysis.savers import restored_by
from rewriter.facts import ASSIGNMENTS, VARIABLES
from rewriter.graph.view import GraphView
from rewriter.table_settings import TableSettings
from runtime._tf_private_estimator import extend_exports
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.variables_from_tables import restore_from_tables
from runtime.checkpoint.warm_start_rows import is_replaced

_log = logging.getLogger("rewriter")
#: The settings of the last rewrite, which an export needs.
_UNBUCKETED: dict[str, TableSettings] = {}
_WRITES = ("Assign", "Scatter", "Apply", "SparseApply", "ResourceScatter", "ResourceApply", "ResourceSparseApply")


def let_restore_whole(graph: tf.Graph, view: GraphView, moved: Collection[str]) -> None:
    """Let later Savers restore untrained variables of the graph from tables of a checkpoint, too."""
    restore_from_tables(graph, {name: shape for name, shape in _untrained(view) if name not in moved})


def _untrained(view: GraphView) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name in view.of_type(*VARIABLES):
        shape = tf.TensorShape(view.attribute(name, "shape").shape)
        is_float = view.attribute(name, "dtype").type == tf.float32.as_datatype_enum
        if is_float and shape.rank and shape.is_fully_defined() and not _trained(view, name):
            yield name, tuple(int(size) for size in shape)


def _trained(view: GraphView, name: str) -> bool:
    writes = (use.op for use in view.users(name) if use.input == 0 and view.type(use.op).startswith(_WRITES))
    return not all(_starts(view, name, op) for op in writes)


def _starts(view: GraphView, name: str, op: str) -> bool:
    """Whether an op assigns a variable its initial value or a restored one."""
    return view.type(op) in ASSIGNMENTS and (view.initializers.get(name) == op or bool(restored_by(view, op)))


def prepare_exports(rewrite: Callable[..., Any], settings: Mapping[str, TableSettings]) -> None:
    """Rewrite each graph that an Estimator exports, by `rewrite`, to fit the checkpoint that it is exported with.

    Variables that are tables in the checkpoint are replaced if possible; the others are read from these tables. Those
    whose ids gave up their buckets give them up there.
    """
    _UNBUCKETED.clear()
    _UNBUCKETED.update({name: TableSettings(unbucket=one.unbucket) for name, one in settings.items()})

    def prepare(graph: tf.Graph, path: str) -> None:
        shapes = Bundle(path).shapes
        held = {name for name in shapes if is_replaced(name, shapes)}
        if held:
            wanted = [table.name for table in rewrite(graph, dry_run=True).tables if table.name in held]
            for line in rewrite(graph, wanted, settings=_UNBUCKETED).summary().splitlines():
                _log.info("export: %s", line)

    extend_exports(prepare)
