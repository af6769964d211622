"""Redirects what starts a variable or its slots: by themselves, in groups, or all of them at once."""

from __future__ import annotations

from collections.abc import Collection

from rewriter.facts import Table
from rewriter.graph.view import GraphView
from rewriter.plan.parts import part
from rewriter.plan.plan import ControlEdit


def started(view: GraphView, table: Table) -> list[ControlEdit]:
    """Return the edits of the ops that start rows or slots of a table, and of the groups of such ops.

    A group that starts all of them, as an init op does, empties the table first. What waits for a slot's start and is
    no group may read what the op assigned, so it waits for that as before.
    """
    parts = {one.op: part(table, f"assign/{one.op}", "initializer") for one in table.initial_rows}
    parts |= {one.op: part(table, f"slot/{one.op}", "slots started again") for one in table.slot_starts}
    own = {one.op for one in table.initial_rows}
    inside = {op for update in table.updates for op in update.ops}
    groups: dict[str, list[str]] = {}
    for op in parts:
        for waiting in view.waiting(op):
            if waiting not in inside and (op in own or view.type(waiting) == "NoOp"):
                groups.setdefault(waiting, []).append(op)
    edits = [one.awaited(op) for op, one in parts.items()]
    for waiting, ops in groups.items():
        if _is_all(table, ops):
            edits.append(part(table, "initializer").awaited(waiting, tuple(ops)))
        else:
            edits += [parts[op].awaited(waiting, (op,)) for op in ops]
    return edits


def _is_all(table: Table, ops: Collection[str]) -> bool:
    """Whether these ops start all parts of the variable and all of their slots."""
    begun = {one.slot for one in table.slot_starts if one.op in ops}
    rows = all(one.op in ops for one in table.initial_rows)
    return rows and all(one.slot in begun for one in table.slot_starts)
