"""Savers that a graph has already: what they write and read of variables that become tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter.facts import Table
from rewriter.graph import GraphView, Tensor, Use

__all__ = ["SavedTable", "SaverPart", "find_savers", "restored_by", "why_not_saved"]

_READS = ("ReadVariableOp", "Identity")
_ASSIGNMENTS = ("AssignVariableOp", "Assign")
_FED = ("PlaceholderWithDefault", "Placeholder")
# SaveV2 reads prefix, names and slices before the tensors.
_FIRST_SAVED = 3


@dataclass(frozen=True)
class SavedTable:
    """A table in a SaveV2 or RestoreV2: its variables, their numbers there, and their names in the checkpoint."""

    table: str
    variables: tuple[str, ...]
    numbers: tuple[int, ...]
    names: tuple[str, ...]
    assignments: tuple[str, ...] = ()


@dataclass(frozen=True)
class SaverPart:
    """A SaveV2 or RestoreV2 with tables in it; `kept` are the names and slices of all else, by their numbers."""

    op: str
    restores: bool
    tables: tuple[SavedTable, ...]
    kept: tuple[tuple[int, str, str], ...]


def restored_by(view: GraphView, assignment: str) -> Tensor | None:
    """Return the output of a Saver's RestoreV2 that an op assigns; None when it assigns something else."""
    value = view.inputs(assignment)[1]
    while view.type(value.op) in ("Identity", "Reshape"):
        value = view.inputs(value.op)[0]
    # One whose prefix is a constant is no Saver's: init_from_checkpoint gives an initial value so.
    fed = view.type(value.op) == "RestoreV2" and view.type(view.inputs(value.op)[0].op) in _FED
    return value if fed else None


def why_not_saved(view: GraphView, variables: Sequence[str]) -> tuple[str, str] | None:
    """Return a reason, and the op at fault, why the Savers of the graph could not save a table instead; or None."""
    for op, uses in _met(view, variables).items():
        names, slices = _texts(view, op, 1), _texts(view, op, 2)
        if names is None or slices is None:
            return f"`{op}` finds out when it runs which tensors it saves or restores", op
        if any(slices[number] for number, _, _ in uses):
            return f"`{op}` saves or restores it in parts", op
        if variables[0] not in [variable for _, variable, _ in uses]:
            return f"`{op}` saves or restores its slot `{uses[0][1]}` without it", op
        for number, _, assignment in uses:
            if assignment and (view.users(assignment) or len(view.uses(Tensor(op, number))) != 1):
                return f"what `{op}` restores of it is also used elsewhere", op
    return None


def find_savers(view: GraphView, tables: Sequence[Table]) -> tuple[SaverPart, ...]:
    """Return every SaveV2 and RestoreV2 that the tables are in."""
    found: dict[str, list[SavedTable]] = {}
    for table in tables:
        for op, uses in _met(view, table.variables).items():
            names = _texts(view, op, 1) or []
            numbers, variables, assignments = zip(*uses, strict=True)
            taken = tuple(names[number] for number in numbers)
            found.setdefault(op, []).append(SavedTable(table.name, variables, numbers, taken, assignments))
    return tuple(_part(view, op, saved) for op, saved in found.items())


def _part(view: GraphView, op: str, tables: list[SavedTable]) -> SaverPart:
    moved = {number for saved in tables for number in saved.numbers}
    texts = zip(_texts(view, op, 1) or [], _texts(view, op, 2) or [], strict=True)
    kept = [(number, *both) for number, both in enumerate(texts) if number not in moved]
    return SaverPart(op, view.type(op) == "RestoreV2", tuple(tables), tuple(kept))


def _met(view: GraphView, variables: Sequence[str]) -> dict[str, list[tuple[int, str, str]]]:
    """Return by SaveV2 or RestoreV2 the variables in it: number, variable, and the assignment of what is restored."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for variable in variables:
        for use in _uses(view, variable):
            kind = view.type(use.op)
            if kind == "SaveV2":
                found.setdefault(use.op, []).append((use.input - _FIRST_SAVED, variable, ""))
            elif kind in _ASSIGNMENTS and use.input == 0 and (source := restored_by(view, use.op)):
                found.setdefault(source.op, []).append((source.output, variable, use.op))
    return found


def _uses(view: GraphView, op: str) -> Iterator[Use]:
    for use in view.users(op):
        yield use
        if view.type(use.op) in _READS:
            yield from _uses(view, use.op)


def _texts(view: GraphView, op: str, number: int) -> list[str] | None:
    source = view.inputs(op)[number].op
    if view.type(source) != "Const":
        return None
    texts: Any = tf.make_ndarray(view.nodes[source].attr["value"].tensor)
    return [text.decode() for text in texts.ravel()]
