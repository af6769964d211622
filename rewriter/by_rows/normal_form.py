"""Lets a graph read rows of its variables where it computed all of them row by row, if a table is gained by that."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.candidates import LOOKUPS
from rewriter.apply.edges import edit_controls, edit_input
from rewriter.by_rows.gradients import step_by_rows
from rewriter.by_rows.lookups import GATHERS, rows_of_lookup
from rewriter.by_rows.place import BY_ELEMENT, SCOPE, NotByRows
from rewriter.by_rows.rows_at import RULES
from rewriter.checks.invariants import RewriteError, check
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.patterns.branches import carried_uses, carries, computed_from, source
from rewriter.patterns.fused import DENSE
from rewriter.plan.plan import ControlEdit, InputEdit, Plan
from rewriter.plan.planner import make_plan

#: Ops that write a variable, by values that are computed for it.
_STEP = re.compile("(Resource)?(Sparse)?(Apply|Scatter)|Assign")


@dataclass(frozen=True)
class _Root:
    """A lookup or a step that is given rows of these variables: which tensor is read in the place of which."""

    op: str
    variables: frozenset[str]
    old: Tensor
    new: tf.Tensor
    uses: tuple[Use, ...]

    def edits(self) -> Iterator[InputEdit]:
        """Yield the edits of its readers."""
        for use in self.uses:
            yield InputEdit(use, str(self.old), self.new.name, rule="rows", table=", ".join(sorted(self.variables)))


@dataclass(frozen=True)
class RowsRead:
    """The edits that let readers of old lookups and gradients read what is computed from rows; `roots` are their ops.

    `pairs` are tensors of the old graph, and those in their place.
    """

    inputs: tuple[InputEdit, ...] = ()
    controls: tuple[ControlEdit, ...] = ()
    roots: frozenset[str] = frozenset()
    pairs: tuple[tuple[str, str], ...] = ()


def unlocked_by_rows(
    view: GraphView, plan: Plan, tables: Any, moved: Collection[str], every: int, kept: Collection[str] = ()
) -> tuple[RowsRead, GraphView]:
    """Return the edits that let more variables be replaced than `plan` does, and the view of a copy with all that can.

    None of `kept` counts. The copy is made only if a variable stays because of an op that may work row by row. There
    are no edits in a graph that TensorFlow cannot import.
    """
    if not any(_may_be(view, op) for one in plan.refusals for op in one.path):
        return RowsRead(), view
    with tf.Graph().as_default() as copy:
        try:
            tf.import_graph_def(view.definition, name="")
        except (ValueError, tf.errors.OpError):  # a file may hold what this TensorFlow does not know
            return RowsRead(), view
    copied = _as_of(view, copy)
    roots = _roots(copy, copied, every)
    try:
        after, _ = _read(copy, copied, roots, contextlib.ExitStack())
    except RewriteError:  # an order that the graph asks for would not be kept
        return RowsRead(), view
    gained = _variables(make_plan(after, tables, moved)) - _variables(plan) - set(kept) if roots else set()
    used = [one for one in roots if not gained.isdisjoint(one.variables)]
    return _edits(used), after if used else view


def read_rows(
    graph: tf.Graph, view: GraphView, wanted: RowsRead, every: int, undo: contextlib.ExitStack
) -> tuple[GraphView, RowsRead]:
    """Make the edits that `unlocked_by_rows` found in a copy; return the new view and the edits.

    Raises:
        RewriteError: the graph would not be equivalent; `undo` restores it.
    """
    return _read(graph, view, _roots(graph, view, every, wanted.roots), undo)


def _roots(graph: tf.Graph, view: GraphView, every: int, wanted: Collection[str] | None = None) -> list[_Root]:
    """Build the rows of the lookups and steps `wanted`, or of all that can be computed from rows."""
    roots = list[_Root]()
    ops = [one for one in graph.get_operations() if wanted is None or one.name in wanted]
    with graph.as_default(), tf.device(None), tf.control_dependencies(None), tf.name_scope(SCOPE):
        for op in ops:
            if op.type in GATHERS or op.type in DENSE:
                build = _lookup(view, op) if op.type in GATHERS else _step(graph, view, op, every)
                # An op that TensorFlow cannot build of rows, of unknown shapes for one, keeps its variable as well.
                with contextlib.suppress(NotByRows, ValueError, TypeError), _tf_private.control_flow_of(op):
                    roots += list(build)
    return roots


def _lookup(view: GraphView, op: tf.Operation) -> Iterator[_Root]:
    rows = rows_of_lookup(op)
    if rows is not None:
        yield _Root(op.name, rows.variables, Tensor(op.name), rows.result, tuple(view.users(op.name)))


def _step(graph: tf.Graph, view: GraphView, op: tf.Operation, every: int) -> Iterator[_Root]:
    step = step_by_rows(graph, view, op, every)
    if step is None:
        return
    use = Use(op.name, DENSE[op.type].gradient)
    variables = frozenset([source(view, view.inputs(op.name)[0]).op])
    yield _Root(op.name, variables, view.inputs(op.name)[use.input], step.gradient, (use,))
    for old, norm in step.norms.items():
        tensor = Tensor(old.rpartition(":")[0])
        yield _Root(op.name, variables, tensor, norm, tuple(view.users(tensor.op)))


def _edits(roots: Iterable[_Root], waits: Iterable[ControlEdit] = ()) -> RowsRead:
    """Return the edits of roots; of steps that have a norm in common, the last one gives it."""
    roots = list(roots)
    inputs = {edit.use: edit for one in roots for edit in one.edits()}
    pairs = dict.fromkeys((edit.old, edit.by) for edit in inputs.values())
    return RowsRead(tuple(inputs.values()), tuple(waits), frozenset(one.op for one in roots), tuple(pairs))


def _read(
    graph: tf.Graph, view: GraphView, roots: list[_Root], undo: contextlib.ExitStack
) -> tuple[GraphView, RowsRead]:
    """Move the edges of the roots' readers, and check that nothing else changed."""
    if not roots:
        return view, RowsRead()
    edits, tensors = _edits(roots), {one.new.name: one.new for one in roots}
    for edit in edits.inputs:
        edit_input(graph, edit, tensors[edit.by], undo)
    after = _as_of(view, graph)
    steps = dict.fromkeys(one.op for one in roots if view.type(one.op) in DENSE)
    new = {one.old.op: one.new.op for one in roots}
    waits = [(ControlEdit(op, (old,), by.name), by) for old, by in new.items() for op in view.waiting(old)]
    waits += [wait for op in steps for wait in _before_step(graph, view, after, op)]
    edit_controls(graph, waits, undo)
    edits = replace(edits, controls=tuple(wait for wait, _ in waits))
    after = _as_of(view, graph) if waits else after
    check(view, after, edits)
    return after, edits


def _before_step(
    graph: tf.Graph, before: GraphView, view: GraphView, step: str
) -> Iterator[tuple[ControlEdit, tf.Operation]]:
    """Let a step wait for the uses of its whole variable that other variables get their values from.

    Before, the gradient of the step was computed from the same read, and so the step came after it.
    """
    variable = source(before, before.inputs(step)[0]).op
    shared = computed_from(before, [before.inputs(step)[DENSE[before.type(step)].gradient]])
    uses = [use for use in carried_uses(before, variable) if before.inputs(use.op)[use.input].op in shared]
    whole = [use.op for use in uses if not carries(before, use) and before.type(use.op) not in LOOKUPS]
    others = [op for op in view.nodes if _STEP.match(view.type(op)) and op != step] if whole else []
    needed = computed_from(view, [one for op in others for one in view.inputs(op)])
    ops = [graph.get_operation_by_name(op) for op in sorted({*whole} & needed)]
    awaited = [op for op in ops if not _tf_private.in_control_flow(op)]
    if awaited:
        with graph.as_default(), tf.device(None), tf.name_scope(SCOPE), _tf_private.waiting_for(awaited):
            gate = tf.constant(True, name="read").op
        yield ControlEdit(step, (), gate.name), gate


def _as_of(view: GraphView, graph: tf.Graph) -> GraphView:
    """Return the view of a graph, with what only the graph that `view` is of knows of its variables and loops."""
    view_of_graph = GraphView.of(graph)
    view_of_graph.closed, view_of_graph.initializers, view_of_graph.copied = view.closed, view.initializers, view.copied
    return view_of_graph


def _may_be(view: GraphView, op: str) -> bool:
    return op in view and view.type(op) in {*BY_ELEMENT, *RULES, *DENSE}


def _variables(plan: Plan) -> set[str]:
    return {name for table in plan.tables for name in (table.name, *(part.name for part in table.pieces))}
