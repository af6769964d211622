"""Rewrites graphs in files: the plan of a live graph is applied to an import, and what changed to the file's content.

The result is free of what tables replaced, and holds every byte of what they did not touch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE, moved_before
from rewriter.apply.live import apply_plan
from rewriter.checks.invariants import check
from rewriter.checks.moved_variables import check_readers
from rewriter.facts import Refusal, Table
from rewriter.graph.control_flow import forget_gone
from rewriter.graph.metagraph_names import named_ops
from rewriter.graph.view import GraphView
from rewriter.offline.checks import check_import, check_result, view_of
from rewriter.offline.metagraph_patch import names_without, patched
from rewriter.offline.prune import Pruned, prune, reads, touched
from rewriter.patterns.branches import carried_uses
from rewriter.plan.plan import Plan
from rewriter.plan.planner import make_plan
from runtime import native

__all__ = ["Rewritten", "judge_meta_graph", "rewrite_graph_def", "rewrite_meta_graph"]

v1 = tf.compat.v1
_KEYS = v1.GraphKeys
#: How a Saver is called that a graph is given for its tables because it has none.
_SAVER = SCOPE + "save"


@dataclass(frozen=True)
class Rewritten:
    """A graph with tables: the message in which it came, what moved and why not, and what became of its ops."""

    content: Any
    plan: Plan
    pruned: Pruned


def rewrite_graph_def(definition: Any, tables: Any = "auto", stay: Mapping[str, Refusal] | None = None) -> Rewritten:
    """Let tables take the place of variables of a GraphDef; as `rewrite_meta_graph`, without names from outside."""
    meta = v1.MetaGraphDef()
    meta.graph_def.CopyFrom(definition)
    done = rewrite_meta_graph(meta, tables, stay)
    return dataclasses.replace(done, content=done.content.graph_def)


def rewrite_meta_graph(meta: Any, tables: Any = "auto", stay: Mapping[str, Refusal] | None = None) -> Rewritten:
    """Let tables take the place of variables of a MetaGraphDef, which is not changed.

    Args:
        meta: a MetaGraphDef; its collections, signatures, Saver and assets stay valid.
        tables: "auto" for every variable that is only looked up and updated by rows, or a list of variables' names.
        stay: variables that must stay, with the reason.

    Returns:
        The result, as a new message; equal to `meta` when nothing moves.

    Raises:
        ValueError: `tables` names what is no variable, or this TensorFlow cannot import the graph.
        RewriteError: the rewritten graph would be wrong.
    """
    kept: dict[str, Refusal] = dict(stay or {})
    while True:
        done, unfit = _attempt(meta, tables, kept)
        if not unfit:
            if done.plan.tables:
                check_import(done.content)
            return done
        kept |= {refusal.table: refusal for refusal in unfit}


def judge_meta_graph(meta: Any, tables: Any = "auto", stay: Mapping[str, Refusal] | None = None) -> Plan:
    """Plan what `rewrite_meta_graph` does, without importing the graph.

    Raises:
        ValueError: `tables` names what is no variable.
    """
    view = GraphView(meta.graph_def)
    kept: dict[str, Refusal] = dict(stay or {})
    while True:
        plan = _plan(view, tables, kept)
        unfit = [refusal for table in plan.tables for refusal in _named_whole(view, meta, table)]
        if not unfit:
            return plan
        kept |= {refusal.table: refusal for refusal in unfit}


def _attempt(meta: Any, tables: Any, kept: Mapping[str, Refusal]) -> tuple[Rewritten, list[Refusal]]:
    """Rewrite; return also which tables may not move because something else needs what they replace."""
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
    unfit = _read_elsewhere(before, view_of(result.graph_def), plan, inside)
    if not unfit:
        check_result(meta, result, plan, pruned)
    return Rewritten(result, plan, pruned), unfit


def _plan(view: GraphView, tables: Any, kept: Mapping[str, Refusal]) -> Plan:
    """Plan without those that are kept, and say why they are."""
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
    """Refuse a table whose variable something outside the graph names as a whole, a signature say."""
    whole = reads(view, table)
    for op, where in named_ops(names_without(meta, set(table.variables)), whole).items():
        yield Refusal(table.name, f"{where} gives it whole, by `{op}`", (table.name, op))
        return


def _read_elsewhere(before: GraphView, after: GraphView, plan: Plan, named: Mapping[str, str]) -> list[Refusal]:
    """Refuse tables of which something that is left still uses the variable or a slot."""
    found = []
    for table in plan.tables:
        inside = touched(before, [table]) | set(named)
        for variable in table.variables:
            uses = carried_uses(after, variable) if variable in after else ()
            stray = [use.op for use in uses if use.op not in inside]
            if stray:
                what = "it" if variable not in table.slots else f"its slot `{variable}`"
                found.append(Refusal(table.name, f"`{stray[0]}` uses {what}", (variable, stray[0])))
                break
    return found


def _saver(meta: Any) -> Any:
    """Make a Saver in the current graph if the file has none and would be given one of its variables when imported.

    That one could not know tables, of which an import has only the ops.
    """
    if meta.HasField("saver_def") or _KEYS.GLOBAL_VARIABLES not in meta.collection_def:
        return None
    return v1.train.Saver(name=_SAVER).saver_def


@contextmanager
def imported(meta: Any) -> Iterator[tf.Graph]:
    """Make a MetaGraphDef the current graph.

    Raises:
        ValueError: this TensorFlow cannot import it.
    """
    native.ops()  # a graph that was rewritten before has them
    copy = type(meta)()
    copy.CopyFrom(meta)
    if not copy.HasField("saver_def"):  # the import would add a Saver's ops
        copy.saver_def.CopyFrom(tf.compat.v1.train.SaverDef(save_tensor_name="-", restore_op_name="-"))
    with tf.Graph().as_default() as graph:
        try:
            v1.train.import_meta_graph(copy)
        except (ValueError, KeyError, TypeError, tf.errors.OpError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ValueError(
                f"TensorFlow {tf.__version__} cannot import the graph: {reason}; take the TensorFlow that wrote it"
            ) from error
        _tf_private.number_functions_beyond(_numbers(meta.graph_def.library.function))
        yield graph


def _numbers(functions: Iterable[Any]) -> int:
    """Return the last number that the name of a function of an earlier rewrite, in another process, ends with."""
    names = [one.signature.name for one in functions]
    ends = [name.rpartition("_")[2] for name in names if SCOPE.replace("/", "_") in name]
    return max((int(end) for end in ends if end.isdecimal()), default=0)
