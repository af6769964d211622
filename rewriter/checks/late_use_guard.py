"""What becomes of new ops on a variable that became a table: they would read or write one that nothing else uses.

After `rewrite` and hooks they are refused. In a program that knows nothing of tables they get the table's rows, or set
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from rewriter import _tf_private
from rewriter.facts import Table
from rewriter.graph.source_trace import line_here
from rewriter.graph.view import GraphView
from rewriter.patterns.assignments import results_of
from rewriter.patterns.branches import ASKS, READS
from rewriter.plan.initialized import started_parts
from rewriter.plan.plan import Plan
from runtime.lookup.all_rows import all_rows
from runtime.table.create import tables

__all__ = ["refuse_later_uses", "serve_later_uses", "whole_rows"]

#: Ops that set a whole variable, and those that read one by its handle, which can do the same to a table.
_SETS = ("Assign", "AssignVariableOp")
_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")

#: For each graph: the ops whose value is a whole replaced variable, with the names of variable and table.
_dead: WeakKeyDictionary[tf.Graph, dict[str, tuple[str, str]]] = WeakKeyDictionary()
#: The graphs whose later uses are served, with the variable that takes the place of each handle.
_served: WeakKeyDictionary[tf.Graph, dict[str, tf.Tensor]] = WeakKeyDictionary()


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
    """Yield the replaced variables and their reads, except reads that return the result of an assignment."""
    valid = set(results_of(view, table))
    for name in table.variables:
        yield name, name
        reads = (use.op for use in view.users(name) if use.input == 0 and view.type(use.op) in READS)
        yield from ((op, name) for op in reads if op not in valid)


def _seen(graph: tf.Graph, kind: str, name: str, tensors: list[tf.Tensor]) -> _tf_private.Seen | None:
    """Refuse an op that uses a replaced variable; redirect a query whether it is initialized to the table."""
    dead = _dead.get(graph, {})
    used = next((tensor for tensor in tensors if tensor.op.name in dead), None)
    if used is None:
        return None
    variable, table = dead[used.op.name]
    if kind in ASKS:
        return _started(graph, kind, table)
    if graph in _served:
        served = _serve(graph, kind, tensors)
        if served is not None:
            return served
    line = line_here()
    raise ValueError(
        f"`{name}` ({kind}){f', built at {line},' if line else ''} uses the variable `{variable}`, "
        "which became a table when the graph was rewritten: build it before rewriter.rewrite(), or before the "
        "session whose GraphModifierHook rewrites the graph"
    )


def _started(graph: tf.Graph, kind: str, table: str) -> _tf_private.Seen:
    made = next(one for one in tables(graph) if one.table_name == table)
    with tf.control_dependencies(None), tf.device(None):
        parts = started_parts(table, made, reference=kind == ASKS[1])
    part = f"{table}/started/{kind}"
    return _tf_private.Seen([parts[part]], [parts[one] for one in (f"{part}/known",) if one in parts])


def serve_later_uses(graph: tf.Graph) -> None:
    """Let new ops of a graph read and set the rows of tables where they name the variables that these replaced."""
    _served.setdefault(graph, {})


def whole_rows(tensor: tf.Tensor) -> tf.Tensor:
    """Return the current rows of a table in the place of the variable that it replaced; other tensors as they are."""
    table = _replaced(tensor)
    return tensor if table is None else table.variable.stands_for.rows


def _replaced(tensor: tf.Tensor) -> Any:
    """Return the table in the place of a whole variable that `tensor` is, or reads; None if there is none."""
    variable, name = _dead.get(tensor.graph, {}).get(tensor.op.name, ("", ""))
    table = next((one for one in tables(tensor.graph) if one.table_name == name), None) if variable == name else None
    return table if table is not None and table.variable.stands_for is not None else None


def _serve(graph: tf.Graph, kind: str, tensors: list[tf.Tensor]) -> _tf_private.Seen | None:
    """Return how an op reads or writes the rows of tables; None if it cannot.

    An op that takes a variable itself gets another, which has the rows before and gives them back after it.
    """
    given, waits, written = list(tensors), list[tf.Operation](), list[tuple[Any, tf.Tensor]]()
    for place, tensor in enumerate(tensors):
        if tensor.op.name not in _dead[graph]:
            continue
        table = _replaced(tensor)
        if table is None:
            return None
        by_reference = tensor.dtype == tf.resource or _tf_private.takes_reference(kind, place)
        if not by_reference:
            given[place] = _rows_now(table)
            continue
        given[place] = _stand_in(graph, table, tensor)
        if kind not in _SETS:
            waits.append(_set(given[place], _rows_now(table)))
        if kind not in _READS:
            written.append((table, given[place]))
    return _tf_private.Seen(given, waits, lambda op: _written(op, written))


def _written(op: tf.Operation, written: list[tuple[Any, tf.Tensor]]) -> tf.Operation:
    """Return an op in the place of one that has written stand-ins: it also gives the tables their rows."""
    if not written:
        return op
    with tf.control_dependencies([op]):
        sets = [table.variable.assign(_value(stand_in)) for table, stand_in in written]
    with tf.control_dependencies(sets):
        if not op.outputs:
            return tf.no_op()
        return tf.raw_ops.RefIdentity(input=written[0][1]).op


def _value(stand_in: tf.Tensor) -> tf.Tensor:
    if stand_in.dtype == tf.resource:
        return tf.raw_ops.ReadVariableOp(resource=stand_in, dtype=tf.float32)
    return tf.identity(stand_in)


def _set(stand_in: tf.Tensor, rows: tf.Tensor) -> tf.Operation:
    if stand_in.dtype == tf.resource:
        return tf.raw_ops.AssignVariableOp(resource=stand_in, value=rows)
    return tf.raw_ops.Assign(ref=stand_in, value=rows).op


def _rows_now(table: Any) -> tf.Tensor:
    """Build a read of all rows, in the shape of the variable that the table replaced."""
    shape = table.variable.stands_for.shape
    return tf.reshape(all_rows(table, shape[0]), shape)


def _stand_in(graph: tf.Graph, table: Any, tensor: tf.Tensor) -> tf.Tensor:
    """Return a variable that nothing else reads, of the kind of the one that became a table."""
    known = _served[graph]
    key = f"{table.table_name}/{tensor.dtype.name}"
    if key not in known:
        shape = list(table.variable.stands_for.shape)
        with tf.control_dependencies(None), tf.device(None):
            known[key] = (
                tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=shape, shared_name=f"recmigrate/{table.table_name}/late")
                if tensor.dtype == tf.resource
                else tf.raw_ops.VariableV2(dtype=tf.float32, shape=shape)
            )
    return known[key]
