"""Lets a graph read rows of its variables where it computed all of them row by row, if a table is gained by that."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.candidates import LOOKUPS
from rewriter.apply.edges import edit_controls, edit_input
from rewriter.by_rows.gradients import step_by_rows
from rewriter.by_rows.lookups import GATHERS, rows_of_lookup
from rewriter.by_rows.place import BY_ELEMENT, OTHERS, SCOPE, NotByRows
from rewriter.checks.invariants import check
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.patterns.branches import carried_uses, carries, computed_from, source
from rewriter.patterns.dense import DENSE
from rewriter.plan.plan import ControlEdit, InputEdit, Plan
from rewriter.plan.planner import make_plan

__all__ = ["RowsRead", "read_rows", "unlocked_by_rows"]

#: Ops that write a variable, by values that are computed for it.
_STEP = re.compile("(Resource)?(Sparse)?(Apply|Scatter)|Assign(Add|Sub)")


@dataclass(frozen=True)
class RowsRead:
    """The edits that let readers of old lookups and gradients read what is computed from rows, and their variables."""

    inputs: tuple[InputEdit, ...] = ()
    controls: tuple[ControlEdit, ...] = ()
    variables: Mapping[str, frozenset[str]] | None = None

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Tensors of the old graph, and those in their place."""
        return tuple(dict.fromkeys((edit.old, edit.by) for edit in self.inputs))


def unlocked_by_rows(
    view: GraphView, plan: Plan, tables: Any, moved: Collection[str], every: int
) -> tuple[set[str], GraphView]:
    """Return the lookups and steps that let more variables be replaced, and the view of a copy that reads rows there.

    The graph is not changed. The copy is made only if a variable stays because of an op that may work row by row.
    """
    if not any(_may_be(view, op) for one in plan.refusals for op in one.path):
        return set(), view
    with tf.Graph().as_default() as copy:
        tf.import_graph_def(view.definition, name="")
    after, found = read_rows(copy, _as_of(view, copy), None, every, contextlib.ExitStack())
    before, now = (_variables(one) for one in (plan, make_plan(after, tables, moved) if found.inputs else plan))
    gained = now - before
    roots = {op for op, variables in (found.variables or {}).items() if not gained.isdisjoint(variables)}
    return roots, after if roots else view


def read_rows(
    graph: tf.Graph, view: GraphView, roots: Collection[str] | None, every: int, undo: contextlib.ExitStack
) -> tuple[GraphView, RowsRead]:
    """Let the lookups and steps `roots`, or all that can, be computed from rows; return the new view and the edits."""
    new, variables = dict[Tensor, tuple[tf.Tensor, list[Use]]](), dict[str, frozenset[str]]()
    with graph.as_default(), tf.device(None), tf.control_dependencies(None), tf.name_scope(SCOPE):
        for op in [one for one in graph.get_operations() if one.type in GATHERS or one.type in DENSE]:
            if roots is not None and op.name not in roots:
                continue
            with contextlib.suppress(NotByRows), _tf_private.control_flow_of(op):
                found = dict(_gather(view, op, variables) if op.type in GATHERS else _step(graph, view, op, every, variables))
                new |= found
    edits = [InputEdit(use, str(old), tensor.name) for old, (tensor, uses) in new.items() for use in uses]
    tensors = {tensor.name: tensor for tensor, _ in new.values()}
    for edit in edits:
        edit_input(graph, edit, tensors[edit.by], undo)
    if not edits:
        return view, RowsRead()
    after = _as_of(view, graph)
    waits = [(wait, gate) for op in variables for wait, gate in _before_step(graph, after, op)]
    edit_controls(graph, waits, undo)
    after = _as_of(view, graph) if waits else after
    found = RowsRead(tuple(edits), tuple(wait for wait, _ in waits), variables)
    check(view, after, found)
    return after, found


def _before_step(graph: tf.Graph, view: GraphView, step: str) -> Iterator[tuple[ControlEdit, tf.Operation]]:
    """Let a step wait for the reads of its whole variable that other steps are computed from.

    Before, the gradient of the step was computed from the same read, and so the step came after them.
    """
    if view.type(step) not in DENSE:
        return
    others = [op for op in view.nodes if _STEP.match(view.type(op)) and op != step]
    trained = computed_from(view, [one for op in others for one in view.inputs(op)])
    uses = carried_uses(view, source(view, view.inputs(step)[0]).op)
    whole = {use.op for use in uses if use.op in trained and not carries(view, use) and view.type(use.op) not in LOOKUPS}
    if whole:
        awaited = [graph.get_operation_by_name(one) for one in sorted(whole)]
        with graph.as_default(), tf.device(None), tf.name_scope(SCOPE), _tf_private.waiting_for(awaited):
            gate = tf.constant(True, name="read").op
        yield ControlEdit(step, (), gate.name), gate


_Found = Iterator[tuple[Tensor, tuple[tf.Tensor, list[Use]]]]


def _gather(view: GraphView, op: tf.Operation, variables: dict[str, frozenset[str]]) -> _Found:
    found = rows_of_lookup(op)
    if found is not None:
        variables[op.name] = frozenset(found.variables)
        yield Tensor(op.name), (found.result, list(view.users(op.name)))


def _step(
    graph: tf.Graph, view: GraphView, op: tf.Operation, every: int, variables: dict[str, frozenset[str]]
) -> _Found:
    found = step_by_rows(graph, view, op, every)
    if found is not None:
        number = DENSE[op.type].gradient
        variables[op.name] = frozenset([source(view, view.inputs(op.name)[0]).op])
        yield view.inputs(op.name)[number], (found.gradient, [Use(op.name, number)])
        for old, norm in found.norms.items():
            tensor = Tensor(old.rpartition(":")[0])
            yield tensor, (norm, list(view.users(tensor.op)))


def _as_of(view: GraphView, graph: tf.Graph) -> GraphView:
    """Return the view of a graph, with what only the graph that `view` is of knows of its variables and loops."""
    found = GraphView.of(graph)
    found.closed, found.initializers, found.copied = view.closed, view.initializers, view.copied
    return found


def _may_be(view: GraphView, op: str) -> bool:
    return op in view and view.type(op) in (*BY_ELEMENT, *OTHERS, *DENSE)


def _variables(plan: Plan) -> set[str]:
    return {name for table in plan.tables for name in (table.name, *(part.name for part in table.pieces))}
