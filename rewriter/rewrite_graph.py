"""`rewrite`: analyse a live graph, plan, apply the plan and check the result."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from rewriter.analysis.already_moved import moved_before
from rewriter.analysis.exports import let_restore_whole, prepare_exports
from rewriter.apply.inlining import inline_calls, unlocked_by_inlining
from rewriter.apply.live import MOVED, apply_plan
from rewriter.apply.widening import widen, widen_functions
from rewriter.by_rows.normal_form import read_rows, unlocked_by_rows
from rewriter.checks.invariants import check
from rewriter.checks.late_use_guard import refuse_later_uses
from rewriter.checks.moved_variables import check_collections, check_readers, collections_of
from rewriter.facts import VARIABLES, Table
from rewriter.graph.source_trace import sources_of
from rewriter.graph.view import GraphView, uncollected
from rewriter.plan.bounds import with_bounds
from rewriter.plan.datasets import Wide, find_wide
from rewriter.plan.plan import Plan
from rewriter.plan.planner import make_plan
from rewriter.plan.provenance import with_sources
from rewriter.table_settings import TableSettings, check_tables, checked_settings, is_pattern, names_of, settings_of
from runtime import _validation
from runtime.table.create import tables as runtime_tables


def rewrite(
    graph: tf.Graph | None = None,
    tables: Any = "auto",
    dry_run: bool = False,
    every: int = 1,
    settings: Mapping[str, TableSettings | Mapping[str, Any]] | None = None,
) -> Plan:
    """Replace embedding variables of `graph` (default: the current one) with dynamic tables of the runtime.

    Args:
        graph: a v1 graph whose first session has not started.
        tables: "auto" for every variable that is only looked up and updated by rows, or a list of variable names.
        dry_run: return the plan without changing the graph.
        every: how many steps may share the value of a term of the loss over a whole variable, such as `l2_loss(W)`.
            1 is exact; with more, the loss that is logged has the term of an earlier step, and training is the same.
        settings: names of variables, or patterns such as `user_*`, and how their tables hold rows: `TableSettings`, or
            dicts of its fields.

    Returns:
        The plan: which variables were replaced, and why others were not.

    Raises:
        ValueError: `graph` is no graph; a name in `tables` is not a variable of it; `every` is less than 1; `settings`
            have a wrong field, let rows of given values begin on demand, or name a variable that the graph lacks.
        RuntimeError: the graph is finalized.
        RewriteError: the rewritten graph would be wrong; the rewrite was undone.
    """
    known, here = checked_settings(settings), graph or tf.compat.v1.get_default_graph()
    check_tables(tables)
    _validation.kind("graph", here, tf.Graph, "a v1 graph, or None for the current one")
    require_variables(here, known)
    return rewrite_and_view(here, tables, dry_run, every, known)[0]


def require_variables(graph: tf.Graph, settings: Mapping[str, TableSettings]) -> None:
    """Raise ValueError if settings name a variable that a graph does not have; a pattern may fit none."""
    names = [name for name in settings if not is_pattern(name)]
    if not names:
        return
    view = GraphView.of(graph)
    tables = (table.table_name for table in runtime_tables(graph))
    variables = {*view.of_type(*VARIABLES), *MOVED.get(graph, ()), *tables, *moved_before(view)}
    known = names_of(variables)
    for name in names:
        if name not in known:
            raise ValueError(
                f"settings of `{name}`: the graph has no such variable; give the name of one, or a pattern"
            )


@uncollected()
def rewrite_and_view(
    graph: tf.Graph,
    tables: Any = "auto",
    dry_run: bool = False,
    every: int = 1,
    settings: Mapping[str, TableSettings] | None = None,
    ran: int = 0,
    feedable: bool = False,
) -> tuple[Plan, GraphView]:
    """Do what `rewrite` does, in a graph whose first ops, `ran` of them, sessions know; return plan and new view.

    What has wide ids in its place may be fed if it is `feedable`: the caller passes it on. Else feeding it is an error.
    """
    shared = _validation.integer("every", every, 1)
    before = GraphView.of(graph)
    tables_there = (table.whole.table_name for table in runtime_tables(graph))
    known = {*MOVED.get(graph, ()), *tables_there, *moved_before(before)}
    unlocked, inlined = unlocked_by_inlining(before, tables, known)
    with contextlib.ExitStack() as undo:
        view, placed = before, tuple[tuple[str, str], ...]()
        if unlocked and not dry_run:
            _require_open(graph)
            view, placed, taken_back = inline_calls(graph, before, unlocked)
            undo.callback(taken_back)
        plan = make_plan(inlined if dry_run else view, tables, known)
        rows, by_rows = unlocked_by_rows(inlined if dry_run else view, plan, tables, known, shared)
        if rows.roots and not dry_run:
            _require_open(graph)
            view, rows = read_rows(graph, view, rows, shared, undo)
            by_rows, placed = view, (*placed, *rows.pairs)
        plan = make_plan(by_rows, tables, known) if rows.roots else plan
        plan = _with_all_settings(plan, settings or {})
        plan = dataclasses.replace(plan, notes=_own_tables(graph, before, settings or {}))
        begun = {op.name for op in graph.get_operations()[:ran]}
        wide = find_wide(by_rows, [table for table in plan.tables if table.settings.unbucket], begun)
        names: dict[str, str] = {}
        if wide.groups and not dry_run:
            _require_open(graph)
            names = widen(graph, view, wide.groups, undo)
            widen_functions(graph, view, wide.inside, undo)
            view = GraphView.of(graph)
            notes, plan = plan.notes, _with_all_settings(make_plan(view, tables, known), settings or {})
            plan = dataclasses.replace(plan, notes=notes)
        plan = dataclasses.replace(plan, inlined=placed, rows=rows.inputs, every=shared, widened=tuple(names.items()))
        plan = dataclasses.replace(plan, tables=tuple(_with_buckets(table, wide) for table in plan.tables))
        plan = with_bounds(view if wide.groups and not dry_run else by_rows, plan, wide, begun)
        plan = with_sources(plan, functools.partial(sources_of, graph))
        if not dry_run and plan.tables:
            view = _apply(graph, view, plan, undo)
        if not dry_run:
            let_restore_whole(graph, view, MOVED.get(graph, ()))
            prepare_exports(rewrite, settings or {})
        undo.pop_all()
    for buckets in () if feedable else names:
        graph.prevent_feeding(graph.get_tensor_by_name(buckets))
    return plan, view


def _own_tables(graph: tf.Graph, view: GraphView, settings: Mapping[str, TableSettings]) -> tuple[str, ...]:
    """Return what is said of tables that the program makes itself, whose buckets `unbucket` does not end."""
    moved = {*MOVED.get(graph, ()), *moved_before(view)}
    own = dict.fromkeys(table.whole.table_name for table in runtime_tables(graph) if not table.has_base)
    return tuple(
        f"`{name}` keeps the buckets of its ids, if it has some: the program creates this table itself, and "
        "`unbucket` applies to variables alone; use a variable with a row for each bucket in its place"
        for name in own
        if name not in moved and settings_of(name, settings).unbucket
    )


def _with_all_settings(plan: Plan, settings: Mapping[str, TableSettings]) -> Plan:
    return dataclasses.replace(plan, tables=tuple(_with_settings(table, settings) for table in plan.tables))


def _with_buckets(table: Table, wide: Wide) -> Table:
    """Return a table with the buckets of its ids that it gives up, or with the reason why it keeps them."""
    if table.name not in wide.kept:
        return dataclasses.replace(table, buckets=wide.layouts.get(table.name))
    settings = dataclasses.replace(table.settings, unbucket=False)
    return dataclasses.replace(table, settings=settings, buckets_kept=wide.kept[table.name])


def _with_settings(table: Table, settings: Mapping[str, TableSettings]) -> Table:
    """Return a table with its settings.

    Raises:
        ValueError: its rows would begin on demand, and are drawn from no known distribution.
    """
    chosen = settings_of(table.name, settings)
    if chosen.begins_empty and table.new_rows.assumption:
        raise ValueError(
            f"the rows of `{table.name}` cannot begin on demand, because {table.new_rows.assumption}: give the table "
            "the setting `first_rows: declared`"
        )
    return dataclasses.replace(table, settings=chosen)


def _apply(graph: tf.Graph, before: GraphView, plan: Plan, undo: contextlib.ExitStack) -> GraphView:
    """Apply the plan and check the result; return a view of the resulting graph."""
    _require_open(graph)
    held = collections_of(graph)
    undo.callback(apply_plan(graph, plan))
    after = GraphView.of(graph)
    check(before, after, plan)
    check_readers(before, after, plan)
    check_collections(held, collections_of(graph), plan)
    undo.callback(refuse_later_uses(graph, before, plan))
    return after


def _require_open(graph: tf.Graph) -> None:
    if graph.finalized:
        raise RuntimeError(
            "the graph is finalized: call rewriter.rewrite() before the session starts, or use "
            "GraphModifierHook, which does it in `begin`"
        )
