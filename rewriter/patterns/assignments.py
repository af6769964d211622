"""Ops that set a variable whole: its initializer, one that init_from_checkpoint put there, or the author's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.facts import Assignment, Table
from rewriter.graph.view import GraphView

__all__ = ["Assigned", "results_of", "sort_assignments"]

_CHECKPOINTS = ("RestoreV2", "LoadAndRemapMatrix")
_HANDED_ON = ("Identity", "Reshape")


@dataclass(frozen=True)
class Assigned:
    """The op that gives the first rows, the one that the author meant to (`usual`), and those that set rows later."""

    initializer: str
    usual: str
    later: tuple[Assignment, ...]


def sort_assignments(view: GraphView, name: str, ops: Sequence[str]) -> Assigned | str:
    """Tell which of the ops that set the variable `name` whole is its initializer; or why nobody knows."""
    usual = f"{name}/Assign" if f"{name}/Assign" in ops else ops[0] if ops else ""
    initializer = _initializer(view, name, ops, usual)
    if initializer is None:
        return f"{len(ops)} ops set it whole, not its initializer alone: " + ", ".join(f"`{op}`" for op in ops)
    # Also an initializer that was replaced: nobody runs it, and who does sets the rows that it gives.
    later = [op for op in ops if op != initializer]
    return Assigned(initializer, usual, tuple(Assignment(op, view.inputs(op)[1]) for op in later))


def results_of(view: GraphView, table: Table) -> list[str]:
    """Return the reads that give the author of an assignment what was assigned, by the old variable still."""
    waiting = (op for one in table.assigned for op in view.waiting(one.op))
    return [op for op in waiting if view.type(op) == "ReadVariableOp"]


def _initializer(view: GraphView, name: str, ops: Sequence[str], usual: str) -> str | None:
    """Return the initializer: the live graph knows it; elsewhere the last that reads a checkpoint, or the usual one."""
    known = view.initializers.get(name)
    if known in ops:
        return known
    checkpoints = [op for op in ops if _from_checkpoint(view, op)]
    if checkpoints:
        return checkpoints[-1]
    return usual if len(ops) == 1 or usual == f"{name}/Assign" else None


def _from_checkpoint(view: GraphView, op: str) -> bool:
    value = view.inputs(op)[1]
    while view.type(value.op) in _HANDED_ON:
        value = view.inputs(value.op)[0]
    return view.type(value.op) in _CHECKPOINTS
