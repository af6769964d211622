"""Lets a graph in a file read rows of its variables where it computed all of them row by row, as a live one does."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Any

import tensorflow as tf

from rewriter.analysis.already_moved import moved_before
from rewriter.by_rows.lookups import GATHERS
from rewriter.by_rows.normal_form import RowsRead, read_rows, unlocked_by_rows
from rewriter.graph.control_flow import forget_gone
from rewriter.graph.metagraph_names import named_ops
from rewriter.graph.view import GraphView
from rewriter.offline.imports import imported
from rewriter.offline.metagraph_patch import patched
from rewriter.offline.prune import become, prune
from rewriter.plan.planner import make_plan
from runtime import native


def judged_by_rows(view: GraphView, tables: Any, kept: Collection[str]) -> tuple[RowsRead, GraphView]:
    """Return the edits by which more variables move, but for those `kept`, and a view of the graph with them."""
    native.ops()  # a graph that was rewritten before contains them
    moved = moved_before(view)
    return unlocked_by_rows(view, make_plan(view, tables, moved), tables, moved, 1, kept)


def read_by_rows(meta: Any, tables: Any, kept: Collection[str]) -> tuple[Any, RowsRead, frozenset[str]]:
    """Return a MetaGraphDef with these edits, the edits, and the ops that are gone; `meta` if there are none."""
    wanted, _ = judged_by_rows(GraphView(meta.graph_def), tables, kept)
    if not wanted.roots:
        return meta, wanted, frozenset()
    with imported(meta) as graph, contextlib.ExitStack() as undo:
        before, exported = GraphView.of(graph), tf.compat.v1.train.export_meta_graph(graph=graph)
        _, rows = read_rows(graph, before, wanted, 1, undo)
        result = patched(meta, exported, tf.compat.v1.train.export_meta_graph(graph=graph), ())
        undo.pop_all()
    nodes = {node.name: node for node in result.graph_def.node}
    for edit in rows.inputs:
        op = edit.old.partition(":")[0]
        if nodes[op].op in GATHERS:  # whose name may be fetched
            dtype = tf.as_dtype(nodes[op].attr["Tparams"].type or nodes[op].attr["T"].type)
            become(nodes[op], "Identity", [edit.by.removesuffix(":0")], T=dtype)
    pruned = prune(result.graph_def, before, (), {}, {*named_ops(result, set(nodes)), *rows.roots})
    forget_gone(result)
    return result, rows, pruned.removed
