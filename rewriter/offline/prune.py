"""Removes the ops that a rewrite replaced from a graph in a file, unless something else still reads them.

An op is kept if it was an output of the graph (nothing reads it) and does not belong to a replaced variable, if it is
named by a collection, a signature or the Saver, if it is fed, or if a kept op reads it or waits for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter.facts import ASSIGNMENTS, Table
from rewriter.graph.view import GraphView
from rewriter.patterns.branches import ASKS, carried_uses, carries

#: Op types that are useless without their variable.
_IDLE = (*ASSIGNMENTS, *ASKS, "VariableShape", "Shape", "SaveV2", "DisableCopyOnRead")
_FED = ("Placeholder", "PlaceholderWithDefault", "PlaceholderV2")
_COLOCATION = "_class"


@dataclass(frozen=True)
class Pruned:
    """What happened to ops of the original graph: removed, replaced by another type, or edited in place."""

    removed: frozenset[str]
    replaced: frozenset[str]
    edited: frozenset[str]


def reads(view: GraphView, table: Table) -> set[str]:
    """Return the ops that output the whole variables of the table."""
    uses = (use for variable in table.variables for use in carried_uses(view, variable))
    return {use.op for use in uses if carries(view, use)}


def touched(view: GraphView, tables: Iterable[Table]) -> set[str]:
    """Return the variables of the tables, and the ops on them that are useless once the variables are replaced."""
    ops: set[str] = set()
    for table in tables:
        ops |= {op for update in table.updates for op in update.ops}
        ops |= {op for lookup in table.lookups for op in (lookup.op, *lookup.gathers)}
        ops |= set(table.variables)
        uses = (use for variable in table.variables for use in carried_uses(view, variable))
        ops |= {use.op for use in uses if carries(view, use) or view.type(use.op) in _IDLE}
    return ops


def prune(graph: Any, before: GraphView, tables: Collection[Table], parts: dict[str, str], named: set[str]) -> Pruned:
    """Remove the ops that are not kept from `graph`, a rewritten GraphDef; the others keep their order.

    Args:
        graph: has the ops of `before` under their old names, and new ones.
        before: the graph before the rewrite.
        tables: the tables that were added.
        parts: the tensor or op of each part, by the plan's part names.
        named: ops that are referred to from outside the graph.
    """
    nodes = {node.name: node for node in graph.node}
    replaced = _stand_ins(nodes, before, tables, parts, named)
    roots = named | set(replaced) | _ends(before, touched(before, tables))
    roots |= {op for op, node in before.nodes.items() if node.op in _FED}
    roots |= {lookup.op for table in tables for lookup in table.lookups}
    roots |= {assignment.op for table in tables for assignment in table.assigned}
    kept = _needed(nodes, roots)
    edited = _drop_colocations(nodes, kept)
    rest = [node for node in graph.node if node.name in kept]
    definition = type(graph)()
    definition.node.extend(rest)
    del graph.node[:]
    graph.node.extend(definition.node)
    return Pruned(frozenset(before.nodes.keys() - kept), frozenset(replaced), frozenset(edited))


def _ends(view: GraphView, inside: Collection[str]) -> set[str]:
    return {op for op in view.nodes if op not in inside and not view.users(op) and not view.waiting(op)}


def _needed(nodes: dict[str, Any], roots: Iterable[str]) -> set[str]:
    needed: set[str] = set()
    pending = [op for op in roots if op in nodes]
    while pending:
        op = pending.pop()
        if op not in needed:
            needed.add(op)
            pending.extend(text.removeprefix("^").partition(":")[0] for text in nodes[op].input)
    return needed


def _stand_ins(
    nodes: dict[str, Any], before: GraphView, tables: Iterable[Table], parts: dict[str, str], named: set[str]
) -> list[str]:
    """Turn ops whose names may be fetched or run from outside into aliases of what the table does now."""
    stand_ins = []
    for table in tables:
        for i, lookup in enumerate(table.lookups):
            if before.type(lookup.op) == "ResourceGather":
                part, failing = f"{table.name}/lookup/{i}", parts[f"{table.name}/lookup/{i}/moved"]
                waits = [text for text in nodes[lookup.op].input if text.startswith("^") and text[1:] != failing]
                become(nodes[lookup.op], "Identity", [parts[part], *waits], T=tf.float32)
                stand_ins.append(lookup.op)
        runs = [(one.op, f"{table.name}/assign/{one.op}") for one in table.initial_rows]
        runs += [(op, f"{table.name}/update/{i}") for i, update in enumerate(table.updates) for op in update.ops]
        runs += [(start.op, f"{table.name}/slot/{start.op}") for start in table.slot_starts]
        for op, part in runs:
            if op in named or not (before.users(op) or before.waiting(op)):
                become(nodes[op], "NoOp", ["^" + parts[part].partition(":")[0]])
                stand_ins.append(op)
    return stand_ins


def become(node: Any, kind: str, inputs: list[str], **types: tf.DType) -> None:
    """Change a node to another op with the same name and device."""
    node.op = kind
    node.input[:] = inputs
    for key in set(node.attr) - ({"_output_shapes"} if types else set()):
        del node.attr[key]
    for key, value in types.items():
        node.attr[key].type = value.as_datatype_enum


def _drop_colocations(nodes: dict[str, Any], kept: Collection[str]) -> set[str]:
    """Remove colocations of kept ops with removed ones."""
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
