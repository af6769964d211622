"""`rewrite`: judge a live graph, plan, apply, check; or only plan."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from rewriter.checks import RewriteError, check
from rewriter.checks_moved import check_collections, check_readers, collections_of
from rewriter.graph import GraphView
from rewriter.live import apply_plan
from rewriter.origins import with_sources
from rewriter.plan import Plan, make_plan
from rewriter.trace import sources_of
from runtime.table import tables as runtime_tables

__all__ = ["rewrite", "rewrite_and_view"]


def rewrite(graph: tf.Graph | None = None, tables: Any = "auto", dry_run: bool = False) -> Plan:
    """Let tables of the runtime take the place of variables of `graph` (default: the current one) that are looked up.

    Args:
        graph: a v1 graph before its first session.
        tables: "auto" for every variable that is only looked up and updated by rows, or a list of variables' names.
        dry_run: plan, and change nothing.

    Returns:
        The plan, with what moved, and what did not and why.

    Raises:
        ValueError: `tables` names what is no variable.
        RuntimeError: the graph is finalized.
        RewriteError: the rewritten graph would be wrong; it is as it was before.
    """
    return rewrite_and_view(graph or tf.compat.v1.get_default_graph(), tables, dry_run)[0]


def rewrite_and_view(graph: tf.Graph, tables: Any = "auto", dry_run: bool = False) -> tuple[Plan, GraphView]:
    """Do what `rewrite` does; return the view of the graph as it then is, too."""
    before = GraphView.of(graph)
    plan = make_plan(before, tables, [table.table_name for table in runtime_tables(graph)])
    plan = with_sources(plan, functools.partial(sources_of, graph))
    if dry_run or not plan.tables:
        return plan, before
    held = collections_of(graph)
    undo = apply_plan(graph, plan)
    try:
        after = GraphView.of(graph)
        check(before, after, plan)
        check_readers(before, after, plan)
        check_collections(held, collections_of(graph), plan)
    except RewriteError:
        undo()
        raise
    return plan, after
