"""Post-conditions of a rewritten graph in a file, after the replaced ops were removed."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rewriter.checks.invariants import RewriteError, check_acyclic
from rewriter.graph.metagraph_names import named_ops
from rewriter.graph.view import GraphView
from rewriter.offline.prune import Pruned
from rewriter.plan.plan import Plan
from rewriter.plan.planner import make_plan

_COLOCATION = "_class"


def check_result(source: Any, result: Any, plan: Plan, pruned: Pruned) -> None:
    """Compare a rewritten MetaGraphDef with its source.

    Raises:
        RewriteError: names the first op at fault.
    """
    view = view_of(result.graph_def)
    _check_kept(source.graph_def, view, plan, pruned)
    _check_colocations(view, pruned)
    _check_names(result, pruned)
    check_acyclic(view)
    if set(map(str, _tables(view))) & {table.name for table in plan.tables}:
        raise RewriteError(f"`{plan.tables[0].name}` is still a variable that could be replaced")


def view_of(definition: Any) -> GraphView:
    """Return the view of a rewritten graph.

    Raises:
        RewriteError: an input names an op that does not exist.
    """
    try:
        return GraphView(definition)
    except ValueError as error:
        raise RewriteError(str(error)) from error


def check_import(meta: Any) -> None:
    """Import a MetaGraphDef, by which TensorFlow checks types, shapes, attributes and functions.

    Raises:
        RewriteError: TensorFlow rejects it.
    """
    copy = type(meta)()
    copy.CopyFrom(meta)
    try:
        with tf.Graph().as_default():
            tf.compat.v1.train.import_meta_graph(copy)
    except (ValueError, KeyError, TypeError, tf.errors.OpError) as error:
        raise RewriteError(f"TensorFlow cannot import the result: {str(error)[:500]}") from error


def _tables(view: GraphView) -> list[str]:
    from rewriter.analysis.already_moved import moved_before

    return [table.name for table in make_plan(view, moved=moved_before(view)).tables]


def _check_kept(source: Any, view: GraphView, plan: Plan, pruned: Pruned) -> None:
    """Check that nodes without an edit are identical, and that edited ones differ only in inputs and colocation."""
    inputs = {edit.use.op for edit in plan.inputs} | {wait.op for wait in plan.controls} | pruned.edited
    for node in source.node:
        if node.name in pruned.removed:
            if node.name in view:
                raise RewriteError(f"`{node.name}` was removed and is there again")
            continue
        if node.name not in view:
            raise RewriteError(f"`{node.name}` is missing")
        now = view.nodes[node.name]
        if node.name in pruned.replaced or now == node:
            continue
        if node.name not in inputs:
            raise RewriteError(f"`{node.name}` changed, but the plan has no such edit")
        if _bare(now) != _bare(node):
            raise RewriteError(f"`{node.name}` changed in more than its inputs and its colocation")


def _bare(node: Any) -> Any:
    copy = type(node)()
    copy.CopyFrom(node)
    del copy.input[:]
    copy.attr.pop(_COLOCATION, None)
    return copy


def _check_colocations(view: GraphView, pruned: Pruned) -> None:
    for op in view.nodes:
        for place in view.attribute(op, _COLOCATION).list.s:
            if place.decode().removeprefix("loc:@") in pruned.removed:
                raise RewriteError(f"`{op}` is colocated with `{place.decode()}`, which is missing")


def _check_names(result: Any, pruned: Pruned) -> None:
    for op, where in named_ops(result, pruned.removed).items():
        raise RewriteError(f"{where} names `{op}`, which is missing")
