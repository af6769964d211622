"""Rewrites graphs in files: applies the plan to an imported graph and transfers the changes to the file's message.

Replaced ops are removed from the result; everything else keeps its bytes.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter.analysis.already_moved import SCOPE, moved_before
from rewriter.apply.live import apply_plan
from rewriter.by_rows.lookups import GATHERS
from rewriter.by_rows.normal_form import RowsRead, read_rows, unlocked_by_rows
from rewriter.checks.invariants import RewriteError, check, check_acyclic
from rewriter.checks.moved_variables import check_readers
from rewriter.facts import Refusal, Table
from rewriter.graph.control_flow import forget_gone
from rewriter.graph.metagraph_names import named_ops
from rewriter.graph.view import GraphView
from rewriter.offline.imports import imported
from rewriter.offline.metagraph_patch import names_without, patched
from rewriter.offline.prune import Pruned, become, prune, reads, touched
from rewriter.patterns.branches import carried_uses
from rewriter.plan.plan import Plan
from rewriter.plan.planner import make_plan
from runtime import native

v1 = tf.compat.v1
_KEYS = v1.GraphKeys
#: Name of the Saver that is added for the tables of a graph without one.
_SAVER = SCOPE + "save"
_COLOCATION = "_class"


@dataclass(frozen=True)
class Rewritten:
    """A rewritten graph: the message, the plan with refusals, and what happened to the original ops."""

    content: Any
    plan: Plan
    pruned: Pruned


def rewrite_graph_def(definition: Any, tables: Any = "auto", stay: Mapping[str, Refusal] | None = None) -> Rewritten:
    """Replace variables of a GraphDef with tables; like `rewrite_meta_graph`, without names from outside the graph."""
    meta = v1.MetaGraphDef()
    meta.graph_def.CopyFrom(definition)
    done = rewrite_meta_graph(meta, tables, stay)
    return dataclasses.replace(done, content=done.content.graph_def)


def rewrite_meta_graph(meta: Any, tables: Any = "auto", stay: Mapping[str, Refusal] | None = None) -> Rewritten:
    """Replace variables of a MetaGraphDef with tables; `meta` itself is not changed.

    Args:
        meta: a MetaGraphDef; its collections, signatures, Saver and assets stay valid.
        tables: "auto" for every variable that is only looked up and updated by rows, or a list of variable names.
        stay: variables that must not be replaced, with the reason.

    Returns:
        The result in a new message; equal to `meta` if no variable is replaced.

    Raises:
        ValueError: a name in `tables` is not a variable, or this TensorFlow cannot import the graph.
        RewriteError: the rewritten graph would be wrong.
    """
    kept: dict[str, Refusal] = dict(stay or {})
    while True:
        done, unfit = _attempt(meta, tables, kept)
        if not unfit:
            if done.plan.tables:
                _check_import(done.content)
            return done
        kept |= {refusal.table: refusal for refusal in unfit}


def judge_meta_graph(meta: Any, tables: Any = "auto", stay: Mapping[str, Refusal] | None = None) -> Plan:
    """Return the plan of `rewrite_meta_graph` without importing the graph.

    Raises:
        ValueError: a name in `tables` is not a variable.
    """
    view = GraphView(meta.graph_def)
    kept: dict[str, Refusal] = dict(stay or {})
    while True:
        rows, by_rows = _judged_by_rows(view, tables, kept)
        plan = dataclasses.replace(_plan(by_rows, tables, kept), rows=rows.inputs)
        unfit = [refusal for table in plan.tables for refusal in _named_whole(by_rows, meta, table)]
        if not unfit:
            return plan
        kept |= {refusal.table: refusal for refusal in unfit}


def _attempt(source: Any, tables: Any, kept: Mapping[str, Refusal]) -> tuple[Rewritten, list[Refusal]]:
    """Rewrite; also return the tables that must be refused because other ops need what they replace."""
    meta, rows, gone = _read_by_rows(source, tables, kept)
    done, unfit = _replaced(meta, tables, kept)
    if not done.plan.tables:
        return dataclasses.replace(done, content=source), unfit
    plan = dataclasses.replace(done.plan, rows=rows.inputs, inlined=rows.pairs)
    pruned = dataclasses.replace(done.pruned, removed=done.pruned.removed & _names(source) | gone)
    return Rewritten(done.content, plan, pruned), unfit


def _names(meta: Any) -> set[str]:
    return {node.name for node in meta.graph_def.node}


def _replaced(meta: Any, tables: Any, kept: Mapping[str, Refusal]) -> tuple[Rewritten, list[Refusal]]:
    """Rewrite a graph whose lookups and steps read rows of variables alone."""
    with imported(meta) as graph:
        before = GraphView.of(graph)
        plan = _plan(before, tables, kept)
        if not plan.tables:
            return Rewritten(meta, plan, Pruned(frozenset(), frozenset(), frozenset())), []
        unfit = [refusal for table in plan.tables for refusal in _named_whole(before, meta, table)]
        if unfit:
            return Rewritten(meta, plan, Pruned(frozenset(), frozenset(), frozenset())), unfit
        parts: dict[str, str] = {}
        exported = v1.train.export_meta_graph(graph=graph)
        apply_plan(graph, plan, parts)
        applied = GraphView.of(graph)
        check(before, applied, plan)
        check_readers(before, applied, plan)
        saver = _saver(meta)
        result = patched(meta, exported, v1.train.export_meta_graph(graph=graph), _variables(plan))
    if saver is not None:
        result.saver_def.CopyFrom(saver)
    inside = named_ops(result, {node.name for node in result.graph_def.node})
    anchors = {parts[f"{table.name}/initializer"] for table in plan.tables}
    pruned = prune(result.graph_def, before, plan.tables, parts, {*inside, *anchors})
    forget_gone(result)
    unfit = _read_elsewhere(before, _view_of(result.graph_def), plan, inside)
    if not unfit:
        _check_result(meta, result, plan, pruned)
    return Rewritten(result, plan, pruned), unfit


def _plan(view: GraphView, tables: Any, kept: Mapping[str, Refusal]) -> Plan:
    """Plan without the variables `kept`, and add their refusals."""
    moved = moved_before(view)
    plan = make_plan(view, tables, moved)
    held = [table.name for table in plan.tables if table.name in kept]
    if not held:
        return plan
    going = [table.name for table in plan.tables if table.name not in kept]
    reasons = tuple(kept[name] for name in held)
    return dataclasses.replace(make_plan(view, going, moved), refusals=(*plan.refusals, *reasons))


def _variables(plan: Plan) -> set[str]:
    return {variable for table in plan.tables for variable in table.variables}


def _named_whole(view: GraphView, meta: Any, table: Table) -> Iterator[Refusal]:
    """Refuse a table if a name from outside the graph, such as a signature, refers to its whole variable."""
    whole = reads(view, table)
    for op, where in named_ops(names_without(meta, set(table.variables)), whole).items():
        yield Refusal(table.name, f"{where} exposes the whole variable by `{op}`", (table.name, op))
        return


def _read_elsewhere(before: GraphView, after: GraphView, plan: Plan, named: Mapping[str, str]) -> list[Refusal]:
    """Refuse tables whose variable or slot is still used by an op that is kept."""
    readers = []
    for table in plan.tables:
        inside = touched(before, [table]) | set(named)
        for variable in table.variables:
            uses = carried_uses(after, variable) if variable in after else ()
            stray = [use.op for use in uses if use.op not in inside]
            if stray:
                what = "it" if variable not in table.slots else f"its slot `{variable}`"
                readers.append(Refusal(table.name, f"`{stray[0]}` uses {what}", (variable, stray[0])))
                break
    return readers


def _saver(meta: Any) -> Any:
    """Build a Saver in the current graph if the file has none and the import would add one.

    The Saver that an import adds does not cover tables, because an imported graph only has their ops.
    """
    if meta.HasField("saver_def") or _KEYS.GLOBAL_VARIABLES not in meta.collection_def:
        return None
    return v1.train.Saver(name=_SAVER).saver_def


def _judged_by_rows(view: GraphView, tables: Any, kept: Collection[str]) -> tuple[RowsRead, GraphView]:
    """Return the edits by which more variables move, but for those `kept`, and a view of the graph with them."""
    native.ops()  # a graph that was rewritten before contains them
    moved = moved_before(view)
    return unlocked_by_rows(view, make_plan(view, tables, moved), tables, moved, 1, kept)


def _read_by_rows(meta: Any, tables: Any, kept: Collection[str]) -> tuple[Any, RowsRead, frozenset[str]]:
    """Return a MetaGraphDef with these edits, the edits, and the ops that are gone; `meta` if there are none."""
    wanted, _ = _judged_by_rows(GraphView(meta.graph_def), tables, kept)
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


def _check_result(source: Any, result: Any, plan: Plan, pruned: Pruned) -> None:
    """Compare a rewritten MetaGraphDef with its source.

    Raises:
        RewriteError: names the first op at fault.
    """
    view = _view_of(result.graph_def)
    _check_kept(source.graph_def, view, plan, pruned)
    _check_colocations(view, pruned)
    _check_names(result, pruned)
    check_acyclic(view)
    if set(map(str, _tables(view))) & {table.name for table in plan.tables}:
        raise RewriteError(f"`{plan.tables[0].name}` is still a variable that could be replaced")


def _view_of(definition: Any) -> GraphView:
    """Return the view of a rewritten graph.

    Raises:
        RewriteError: an input names an op that does not exist.
    """
    try:
        return GraphView(definition)
    except ValueError as error:
        raise RewriteError(str(error)) from error


def _check_import(meta: Any) -> None:
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
