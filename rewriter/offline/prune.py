"""Takes out of a rewritten graph in a file what the rewrite replaced, as far as nothing else reads it.

An op is kept when it was an end of the graph (nothing reads it) that does not belong to a moved variable, when it is
named (by a collection, a signature, the Saver), when it is fed, or when one that is kept reads it or waits for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter.analysis.savers import restored_by
from rewriter.facts import Table
from rewriter.graph.view import GraphView
from rewriter.patterns.branches import ASKS, carried_uses, carries

__all__ = ["Pruned", "prune", "reads", "touched"]

_ASSIGNMENTS = ("AssignVariableOp", "Assign")
#: Types of ops that are of no use but for a variable.
_IDLE = (*_ASSIGNMENTS, *ASKS, "VariableShape", "Shape", "SaveV2", "DisableCopyOnRead")
_FED = ("Placeholder", "PlaceholderWithDefault", "PlaceholderV2")
_COLOCATION = "_class"


@dataclass(frozen=True)
class Pruned:
    """What happened to ops of the graph as it was: taken out, of another type now, edited in place."""

    removed: frozenset[str]
    replaced: frozenset[str]
    edited: frozenset[str]


def reads(view: GraphView, table: Table) -> set[str]:
    """Return the ops that give the table's variables whole."""
    uses = (use for variable in table.variables for use in carried_uses(view, variable))
    return {use.op for use in uses if carries(view, use)}


def touched(view: GraphView, tables: Iterable[Table]) -> set[str]:
    """Return the variables of the tables and those of the ops that use them which tables make idle."""
    found: set[str] = set()
    for table in tables:
        found |= {op for update in table.updates for op in update.ops}
        found |= {op for lookup in table.lookups for op in (lookup.op, *lookup.gathers)}
        found |= set(table.variables)
        uses = (use for variable in table.variables for use in carried_uses(view, variable))
        found |= {use.op for use in uses if carries(view, use) or view.type(use.op) in _IDLE}
    return found


def prune(graph: Any, before: GraphView, tables: Collection[Table], parts: dict[str, str], named: set[str]) -> Pruned:
    """Take out of `graph`, a rewritten GraphDef, what is not kept; the others keep their order.

    Args:
        graph: it has ops of `before` under their names, and new ones.
        before: the graph before the rewrite.
        tables: those that moved.
        parts: by the names that the plan gives parts, the tensor or op that each is.
        named: ops that something outside the graph names.
    """
    nodes = {node.name: node for node in graph.node}
    replaced = _stand_ins(nodes, before, tables, parts, named)
    edited = _drop_waits(nodes, before, tables)
    roots = named | set(replaced) | _ends(before, touched(before, tables))
    roots |= {op for op, node in before.nodes.items() if node.op in _FED}
    roots |= {lookup.op for table in tables for lookup in table.lookups}
    roots |= {assignment.op for table in tables for assignment in table.assigned}
    kept = _needed(nodes, roots)
    edited = (edited & kept) | _drop_colocations(nodes, kept)
    rest = [node for node in graph.node if node.name in kept]
    definition = type(graph)()
    definition.node.extend(rest)
    del graph.node[:]
    graph.node.extend(definition.node)
    return Pruned(frozenset(before.nodes.keys() - kept), frozenset(replaced), frozenset(edited))


def _ends(view: GraphView, inside: Collection[str]) -> set[str]:
    return {op for op in view.nodes if op not in inside and not view.users(op) and not view.waiting(op)}


def _needed(nodes: dict[str, Any], roots: Iterable[str]) -> set[str]:
    found: set[str] = set()
    pending = [op for op in roots if op in nodes]
    while pending:
        op = pending.pop()
        if op not in found:
            found.add(op)
            pending.extend(text.removeprefix("^").partition(":")[0] for text in nodes[op].input)
    return found


def _stand_ins(
    nodes: dict[str, Any], before: GraphView, tables: Iterable[Table], parts: dict[str, str], named: set[str]
) -> list[str]:
    """Let ops under whose names somebody may fetch or run what the table does now, do so."""
    found = []
    for table in tables:
        for i, lookup in enumerate(table.lookups):
            if before.type(lookup.op) == "ResourceGather":
                part, failing = f"{table.name}/lookup/{i}", parts[f"{table.name}/lookup/{i}/moved"]
                waits = [text for text in nodes[lookup.op].input if text.startswith("^") and text[1:] != failing]
                _become(nodes[lookup.op], "Identity", [parts[part], *waits], T=tf.float32)
                found.append(lookup.op)
        runs = [(part.initializer, f"{table.name}/initializer") for part in table.pieces]
        runs += [(op, f"{table.name}/update/{i}") for i, update in enumerate(table.updates) for op in update.ops]
        for op, part in runs:
            if op in named or not (before.users(op) or before.waiting(op)):
                _become(nodes[op], "NoOp", ["^" + parts[part].partition(":")[0]])
                found.append(op)
    return found


def _become(node: Any, kind: str, inputs: list[str], **types: tf.DType) -> None:
    """Make a node another under its name, on its device."""
    node.op = kind
    node.input[:] = inputs
    for key in set(node.attr) - ({"_output_shapes"} if types else set()):
        del node.attr[key]
    for key, value in types.items():
        node.attr[key].type = value.as_datatype_enum


def _drop_waits(nodes: dict[str, Any], before: GraphView, tables: Iterable[Table]) -> set[str]:
    """Let nobody wait any more for slots to start: they start with the rows."""
    edited = set()
    for op in (start for table in tables for start in _slot_starts(before, table)):
        for waiting in before.waiting(op):
            nodes[waiting].input[:] = [text for text in nodes[waiting].input if text != "^" + op]
            edited.add(waiting)
    return edited


def _slot_starts(view: GraphView, table: Table) -> Iterator[str]:
    """Return the ops that give the slots their first values."""
    steps = {op for update in table.updates for op in update.ops}
    for slot in table.slots:
        for use in view.users(slot):
            sets = view.type(use.op) in _ASSIGNMENTS and use.input == 0
            if sets and use.op not in steps and not restored_by(view, use.op):
                yield use.op


def _drop_colocations(nodes: dict[str, Any], kept: Collection[str]) -> set[str]:
    """Let what is kept be placed freely where it was to be placed with what is gone."""
    edited = set()
    for op in kept:
        node = nodes[op]
        if _COLOCATION not in node.attr:
            continue
        there = [one for one in node.attr[_COLOCATION].list.s if one.decode().removeprefix("loc:@") in kept]
        if len(there) == len(node.attr[_COLOCATION].list.s):
            continue
        edited.add(op)
        node.attr[_COLOCATION].list.s[:] = there
        if not there:
            del node.attr[_COLOCATION]
    return edited
