"""Ops that assign a whole variable: its initializer, one added by init_from_checkpoint, or one in user code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.facts import Assignment, Table
from rewriter.graph.view import GraphView

_CHECKPOINTS = ("RestoreV2", "LoadAndRemapMatrix")
_HANDED_ON = ("Identity", "Reshape")


@dataclass(frozen=True)
class Assigned:
    """The op that assigns the first rows, the initializer in user code (`usual`), and ops that assign rows later."""

    initializer: str
    usual: str
    later: tuple[Assignment, ...]


def sort_assignments(view: GraphView, name: str, ops: Sequence[str]) -> Assigned | str:
    """Return which of the ops that assign all of the variable `name` is its initializer; a reason if it is unknown."""
    usual = f"{name}/Assign" if f"{name}/Assign" in ops else ops[0] if ops else ""
    initializer = _initializer(view, name, ops, usual)
    if initializer is None:
        return f"{len(ops)} ops assign all of its rows, where only its initializer may: " + ", ".join(
            f"`{op}`" for op in ops
        )
    # A replaced initializer counts as later: normally it is not run, and if it is, it assigns its rows.
    later = [op for op in ops if op != initializer]
    return Assigned(initializer, usual, tuple(Assignment(op, view.inputs(op)[1]) for op in later))


def results_of(view: GraphView, table: Table) -> list[str]:
    """Return the reads that give the result of an assignment, which still come from the old variable or slot."""
    waiting = (op for one in table.set_by for op in view.waiting(one.op))
    return [op for op in waiting if view.type(op) == "ReadVariableOp"]


def _initializer(view: GraphView, name: str, ops: Sequence[str], usual: str) -> str | None:
    """Return the initializer: a live graph knows it; else the last op that reads a checkpoint, or the usual one."""
    known = view.initializers.get(name)
    if known in ops:
        return known
    checkpoints = [op for op in ops if _from_checkpoint(view, op)]
    if checkpoints:
        return checkpoints[-1]
    return usual if len(ops) == 1 or usual == f"{name}/Assign" else None


def _from_checkpoint(view: GraphView, op: str) -> bool:
    return view.type(view.behind(view.inputs(op)[1], _HANDED_ON).op) in _CHECKPOINTS
