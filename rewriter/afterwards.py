"""Refuses ops that are built on a variable after it became a table: they would use what nobody sets or reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

import tensorflow as tf

from rewriter import _tensorflow
from rewriter.facts import Table
from rewriter.graph import GraphView
from rewriter.patterns.assignments import results_of
from rewriter.patterns.branches import READS
from rewriter.plan import Plan
from rewriter.trace import line_here

__all__ = ["refuse_later_uses"]

#: What Keras builds of every variable before it looks for those that no initializer was run of.
_ASKED = ("VarIsInitializedOp", "IsVariableInitialized")
#: By graph: the ops that give a moved variable whole, and its name.
_dead: WeakKeyDictionary[tf.Graph, dict[str, str]] = WeakKeyDictionary()


def refuse_later_uses(graph: tf.Graph, before: GraphView, plan: Plan) -> Callable[[], None]:
    """Let Python build no more ops in a live graph that use a variable of the plan's tables; return what ends it.

    The op that would be built raises a ValueError, in the author's line.
    """
    known = dict(_dead.get(graph, {}))
    _dead[graph] = known | {op: name for table in plan.tables for op, name in _whole(before, table)}
    if not known:
        _tensorflow.watch_inputs(graph, lambda kind, name, tensors: _check(graph, kind, name, tensors))
    return lambda: _dead.__setitem__(graph, known)


def _whole(view: GraphView, table: Table) -> Iterator[tuple[str, str]]:
    """Yield the variables and their reads, but for those that give the author of an assignment what was assigned."""
    valid = set(results_of(view, table))
    for name in table.variables:
        yield name, name
        reads = (use.op for use in view.users(name) if use.input == 0 and view.type(use.op) in READS)
        yield from ((op, name) for op in reads if op not in valid)


def _check(graph: tf.Graph, kind: str, name: str, tensors: list[tf.Tensor]) -> None:
    dead = _dead.get(graph, {})
    for tensor in tensors:
        if tensor.op.name in dead and kind not in _ASKED:
            line = line_here()
            raise ValueError(
                f"`{name}` ({kind}){f', built at {line},' if line else ''} uses the variable `{dead[tensor.op.name]}`, "
                "which became a table when the graph was rewritten: build it before rewriter.rewrite(), or before the "
                "session whose GraphModifierHook rewrites the graph"
            )
