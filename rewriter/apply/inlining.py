"""Inlines functions whose bodies look up variables, so that these lookups can be replaced.

v2 branches and loops become v1 control flow, as TensorFlow itself lowers them in every session.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter.analysis.candidates import LOOKUPS
from rewriter.analysis.whole_uses import is_handle
from rewriter.apply.edges import edit_controls, edit_input
from rewriter.apply.inlined_bodies import build_call, can_be_built
from rewriter.checks.invariants import check
from rewriter.facts import VARIABLES
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.patterns.branches import carried_uses, source
from rewriter.patterns.functions import inner_uses
from rewriter.plan.plan import ControlEdit, InputEdit
from rewriter.plan.planner import make_plan
from rewriter.table_settings import names_of

#: Limit for recursive functions; calls in models are not nested deeper.
_DEEPEST = 10


@dataclass(frozen=True)
class _Inlining:
    """The edits that let all readers use the inlined ops instead of a call."""

    inputs: tuple[InputEdit, ...]
    controls: tuple[ControlEdit, ...]


def unlocked_by_inlining(view: GraphView, tables: Any, moved: Collection[str]) -> tuple[list[str], GraphView]:
    """Return the variables that can be replaced only after inlining, and the view of an inlined copy of the graph.

    The graph is not changed. The copy is made only if functions look up variables.
    """
    variables = view.of_type(*VARIABLES)
    wanted = variables if tables == "auto" else [one for one in variables if names_of([one]) & {*tables}]
    inside = [name for name in wanted if name not in moved and _calls(view, [name])]
    if not inside:
        return [], view
    with tf.Graph().as_default() as copy:
        tf.import_graph_def(view.definition, name="")
    after, _, _ = inline_calls(copy, GraphView.of(copy), inside)
    # A partitioned variable moves under a name of its own.
    plan = make_plan(after, tables, moved)
    moving = {name for table in plan.tables for name in (table.name, *(part.name for part in table.pieces))}
    unlocked = [name for name in inside if name in moving]
    return unlocked, after if unlocked else view


def inline_calls(
    graph: tf.Graph, view: GraphView, variables: Collection[str]
) -> tuple[GraphView, tuple[tuple[str, str], ...], Callable[[], None]]:
    """Inline the calls whose functions look up these variables.

    Returns:
        The new view, (output of a call, tensor in its place) pairs, and a function that restores all edges.

    Raises:
        RewriteError: the inlined graph would not be equivalent; it was restored.
    """
    placed: list[tuple[str, str]] = []
    with contextlib.ExitStack() as undo:
        for _ in range(_DEEPEST):
            calls = _calls(view, variables)
            if not calls:
                break
            for call in calls:
                before, (edits, outputs) = view, _inline(graph, view, call, undo)
                placed += [(f"{call}:{number}", output.name) for number, output in enumerate(outputs)]
                view = GraphView.of(graph)
                check(before, view, edits)
        return view, tuple(placed), undo.pop_all().close


def _calls(view: GraphView, variables: Collection[str]) -> list[str]:
    """Return the calls that can be inlined and whose functions look up one of the variables, or read it as a whole.

    What reads a variable that the graph never looks up counts not: there is nothing to gain.
    """
    callers: dict[str, None] = {}
    for variable in variables:
        uses = list(carried_uses(view, variable))
        looked_up = any(view.type(one.op) in LOOKUPS and one.input == 0 for one in uses)
        for use in uses:
            inner = list(inner_uses(view, use))
            reads = looked_up and bool(inner) and is_handle(view, view.inputs(use.op)[use.input])
            if (reads or any(one.type in LOOKUPS and one.input == 0 for one in inner)) and can_be_built(view, use.op):
                callers[use.op] = None
    return list(callers)


def _inline(
    graph: tf.Graph, view: GraphView, name: str, undo: contextlib.ExitStack
) -> tuple[_Inlining, list[tf.Tensor]]:
    call = graph.get_operation_by_name(name)
    with graph.as_default(), tf.control_dependencies(None), tf.device(None), tf.device(call.device or None):
        built = build_call(view, call)
        outputs = built[: len(call.outputs)]
        parts: dict[str, Any] = {f"{name}/{number}": output for number, output in enumerate(outputs)}
        with tf.name_scope(f"{name}/inlined/"):
            with tf.control_dependencies(built):
                parts[f"{name}/done"] = tf.no_op("done")
            gone = _gone(name, outputs)
            parts[f"{name}/gone"] = gone
            numbers = _variables_given(view, name)
            with tf.control_dependencies([gone]):
                for number in numbers:
                    tensor = call.inputs[number]
                    parts[f"{name}/gone/{number}"] = tf.compat.v1.placeholder(tensor.dtype, tensor.shape)
    edits = _edits(view, name, len(outputs), numbers)
    for edit in edits.inputs:
        edit_input(graph, edit, parts[edit.by], undo)
    edit_controls(graph, ((wait, parts[wait.by]) for wait in edits.controls), undo)
    return edits, outputs


def _edits(view: GraphView, name: str, outputs: int, numbers: Sequence[int]) -> _Inlining:
    tensors = [Tensor(name, number) for number in range(outputs)]
    inputs = [InputEdit(use, str(tensor), f"{name}/{tensor.output}") for tensor in tensors for use in view.uses(tensor)]
    inputs += [
        InputEdit(Use(name, i), str(view.inputs(name)[i]), f"{name}/gone/{i}", same_shape=False) for i in numbers
    ]
    controls = [ControlEdit(op, (name,), f"{name}/done") for op in dict.fromkeys(view.waiting(name))]
    return _Inlining(tuple(inputs), (*controls, ControlEdit(name, (), f"{name}/gone")))


def _variables_given(view: GraphView, name: str) -> list[int]:
    """Return the inputs of a call that are variables, or reads of them, which the old call must not keep."""
    inputs = enumerate(view.inputs(name))
    return [number for number, tensor in inputs if view.type(source(view, tensor).op) in VARIABLES]


def _gone(name: str, outputs: Sequence[tf.Tensor]) -> tf.Operation:
    """Build an op that raises when the old call is fetched, with a message that says what to fetch instead."""
    names = ", ".join(f"`{output.name}`" for output in outputs)
    text = (
        f"`{name}` gets a variable that has become a table, and cannot be fetched: fetch {names}, or give its "
        "results names by tf.identity"
    )
    return tf.raw_ops.Assert(condition=tf.constant(False), data=[text], name="gone")
