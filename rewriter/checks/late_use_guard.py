"""What becomes of new ops on a variable that became a table: they would read or write one that nothing else uses.

After `rewrite` and hooks they are refused. In a program that knows nothing of tables they get the table's rows, or set
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

import tensorflow as tf

from rewriter import _tf_private
from rewriter.analysis.already_moved import SCOPE
from rewriter.facts import Table
from rewriter.graph.source_trace import line_here
from rewriter.graph.view import GraphView
from rewriter.patterns.assignments import results_of
from rewriter.patterns.branches import ASKS, READS
from rewriter.plan.plan import Plan
from rewriter.plan.planner import started_parts
from runtime.table.clusters.servers import is_at
from runtime.table.create import tables

#: For each graph: the ops whose value is a whole replaced variable, with the names of variable and table.
_dead: WeakKeyDictionary[tf.Graph, dict[str, tuple[str, str]]] = WeakKeyDictionary()
Serve = Callable[[str, list[tf.Tensor]], _tf_private.Seen | None]
_served: WeakKeyDictionary[tf.Graph, Serve] = WeakKeyDictionary()


def refuse_later_uses(graph: tf.Graph, before: GraphView, plan: Plan) -> Callable[[], None]:
    """Refuse new Python-built ops in a live graph that use a replaced variable; return a function that ends the guard.

    The op raises a ValueError at the user's line that would build it.
    """
    known = dict(_dead.get(graph, {}))
    _dead[graph] = known | {op: (name, table.name) for table in plan.tables for op, name in _whole(before, table)}
    if not known:
        _tf_private.watch_inputs(graph, lambda kind, name, tensors: _seen(graph, kind, name, tensors))
    return lambda: _dead.__setitem__(graph, known)


def _whole(view: GraphView, table: Table) -> Iterator[tuple[str, str]]:
    """Yield the replaced variables and their reads, except reads that return the result of an assignment or a write."""
    valid = {*results_of(view, table), *(op for one in table.row_ops for op in one.results)}
    for name in table.variables:
        yield name, name
        reads = (use.op for use in view.users(name) if use.input == 0 and view.type(use.op) in READS)
        yield from ((op, name) for op in reads if op not in valid)


def _seen(graph: tf.Graph, kind: str, name: str, tensors: list[tf.Tensor]) -> _tf_private.Seen | None:
    """Refuse an op that uses a replaced variable; redirect a query whether it is initialized to the table."""
    known = next((known for known in map(replaced, tensors) if known is not None), None)
    if known is None:
        return None
    variable, table = known
    if kind in ASKS:
        return _started(graph, kind, table, graph.get_operation_by_name(variable).device)
    if graph in _served:
        served = _served[graph](kind, tensors)
        if served is not None:
            return served
    line = line_here()
    raise ValueError(
        f"`{name}` ({kind}){f', built at {line},' if line else ''} uses the variable `{variable}`, "
        "which became a table when the graph was rewritten: build it before rewriter.rewrite(), or before the "
        "session whose GraphModifierHook rewrites the graph"
    )


def _started(graph: tf.Graph, kind: str, table: str, device: str) -> _tf_private.Seen:
    """Redirect a query to the table, or to its shard where the variable was."""
    runtime_table = next(one.whole for one in tables(graph) if one.whole.table_name == table)
    with tf.control_dependencies(None), tf.device(None):
        parts = started_parts(table, runtime_table, reference=kind == ASKS[1])
    places = [shard.place for shard in runtime_table.parts]
    number = next((number for number, place in enumerate(places) if is_at(device, place)), 0)
    part = f"{table}/started/{kind}/{number}"
    return _tf_private.Seen([parts[part]], [parts[one] for one in (f"{part}/known",) if one in parts])


def serve_later_uses(graph: tf.Graph, serve: Serve) -> None:
    """Let `serve`, given the type and the inputs of a new op, say how it uses tables; None refuses the op."""
    _served[graph] = serve


def replaced(tensor: tf.Tensor) -> tuple[str, str] | None:
    """Return the names of variable and table if a tensor is, or reads, a whole variable that became a table."""
    *_, last = _read_by(tensor)
    return _dead.get(tensor.graph, {}).get(last.name)


def waited_for(tensor: tf.Tensor) -> tuple[tf.Operation, ...]:
    """Return the ops that a read of a replaced variable waits for, in the place of other reads that it waits for."""
    waiting, pending = dict[tf.Operation, None](), list(_read_by(tensor))
    while pending:
        for waited in pending.pop().control_inputs:
            if waited.outputs and replaced(waited.outputs[0]) is not None:
                pending += _read_by(waited.outputs[0])
            elif not (waited.type == "Assert" and waited.name.startswith(SCOPE)):  # which says that it is gone
                waiting[waited] = None
    return tuple(waiting)


def _read_by(tensor: tf.Tensor) -> Iterator[tf.Operation]:
    """Yield the op of a tensor and, where that only gives it on, as of `Variable.read_value()`, those before."""
    dead, op = _dead.get(tensor.graph, {}), tensor.op
    yield op
    while op.type == "Identity" and op.name not in dead:
        op = op.inputs[0].op
        yield op
