"""`move_ids`: plans the id pipeline of a live graph, applies the plan and checks the result."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Collection

import tensorflow as tf

from rewriter import _tf_private
from rewriter.apply.edges import edit_controls, edit_input
from rewriter.checks.invariants import RewriteError, check
from rewriter.graph.source_trace import sources_of
from rewriter.graph.view import GraphView, Tensor, uncollected
from rewriter.pipeline.live import PipelineParts
from rewriter.pipeline.lookups import lookups_of
from rewriter.pipeline.plan import PipelinePlan, plan_pipeline


@uncollected()
def move_ids(
    graph: tf.Graph | None = None,
    dry_run: bool = False,
    view: GraphView | None = None,
    op_types: Collection[str] = (),
    prefetch: bool = True,
    feedable: bool = False,
) -> PipelinePlan:
    """Let the datasets of `graph` (default: the current one) compute the ids that tables look up, ahead of the step.

    For tables with storage tiers below memory (`create_table(storage=...)`), datasets also read the rows of the ids
    ahead.

    Args:
        graph: a v1 graph whose first session has not started.
        dry_run: return the plan without changing the graph.
        view: a view of the graph in its current state, if available; creating one takes time.
        op_types: move only ids that depend on an op of one of these types; by default, all that can move.
        prefetch: whether rows are read ahead.
        feedable: whether what datasets compute may still be fed, as the caller passes it on to what reads it.

    Returns:
        The plan: the lookups whose ids moved, and why those of others did not.

    Raises:
        RuntimeError: the graph is finalized.
        RewriteError: the resulting graph would be wrong; the changes were undone.
    """
    graph = graph or tf.compat.v1.get_default_graph()
    lookups, staying = lookups_of(graph)
    if not prefetch:
        lookups = [dataclasses.replace(one, tiered="") for one in lookups]
    lines = functools.partial(sources_of, graph)
    if not lookups:
        return PipelinePlan(staying=tuple(staying)).with_sources(lines)
    before = view or GraphView.of(graph)
    plan = plan_pipeline(
        before,
        lookups,
        lambda op: _tf_private.stateful_types(graph.get_operation_by_name(op)),
        lambda op: _tf_private.in_control_flow(graph.get_operation_by_name(op)),
        lambda tensor: _carried(graph, tensor),
        staying,
        op_types,
    ).with_sources(lines)
    if dry_run or not plan.extended:
        return plan
    undo = _apply(graph, before, plan)
    try:
        check(before, GraphView.of(graph), plan)
    except RewriteError:
        undo.close()
        raise
    for op in () if feedable else plan.replaced():
        for tensor in graph.get_operation_by_name(op).outputs:
            graph.prevent_feeding(tensor)  # a plain session has no hook to explain it
    return plan


def _carried(graph: tf.Graph, tensor: Tensor) -> bool:
    return graph.get_tensor_by_name(str(tensor)).dtype not in (tf.resource, tf.variant)


def _apply(graph: tf.Graph, view: GraphView, plan: PipelinePlan) -> contextlib.ExitStack:
    if graph.finalized:
        raise RuntimeError(
            "the graph is finalized: move ids before the session starts (GraphModifierHook does it in `begin`)"
        )
    undo = contextlib.ExitStack()
    with graph.as_default(), tf.device(None), tf.control_dependencies(None), undo:
        parts = PipelineParts(graph, view, plan)
        _tf_private.replace_iterators(graph, parts.iterators, undo)
        for edit in plan.inputs:
            edit_input(graph, edit, parts.tensor(edit.by), undo)
        edit_controls(graph, ((wait, parts.op(wait.by)) for wait in plan.controls), undo)
        return undo.pop_all()
