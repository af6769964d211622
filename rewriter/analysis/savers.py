"""Savers that the graph already has: how they save and restore variables that become tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rewriter.facts import ASSIGNMENTS, Table
from rewriter.graph.view import GraphView, Tensor, Use

__all__ = ["SavedTable", "SaverPart", "find_savers", "restored_by", "why_not_saved"]

_READS = ("ReadVariableOp", "Identity")
_FED = ("PlaceholderWithDefault", "Placeholder")
# Inputs 0 to 2 of SaveV2 are prefix, names and slices; tensors follow.
_FIRST_SAVED = 3


@dataclass(frozen=True)
class SavedTable:
    """A table in a SaveV2 or RestoreV2: the positions of its variables there, and the ops that assign restored values.

    `pieces` are the variable's names in the checkpoint: one, or one for each part that is saved as a tensor of its own.
    `slots` are the same for each slot.
    """

    table: str
    numbers: tuple[int, ...]
    assignments: tuple[str, ...]
    pieces: tuple[str, ...]
    slots: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the variable and its slots in the checkpoint."""
        return (*self.pieces, *(name for slot in self.slots for name in slot))


@dataclass(frozen=True)
class SaverPart:
    """A SaveV2 or RestoreV2 that includes tables; `kept` are (position, name, slice) of everything else in it."""

    op: str
    restores: bool
    tables: tuple[SavedTable, ...]
    kept: tuple[tuple[int, str, str], ...]


def restored_by(view: GraphView, assignment: str) -> Tensor | None:
    """Return the RestoreV2 output of a Saver that an op assigns; None if it assigns another value."""
    value = view.inputs(assignment)[1]
    while view.type(value.op) in ("Identity", "Reshape"):
        value = view.inputs(value.op)[0]
    # A RestoreV2 with a constant prefix is an initial value (init_from_checkpoint), not a Saver.
    fed = view.type(value.op) == "RestoreV2" and view.type(view.inputs(value.op)[0].op) in _FED
    return value if fed else None


def why_not_saved(view: GraphView, table: Table) -> tuple[str, str] | None:
    """Return why the graph's Savers could not save a table instead, with the op that prevents it; None if they can."""
    for op, uses in _met(view, table.variables).items():
        names, slices = _texts(view, op, 1), _texts(view, op, 2)
        if names is None or slices is None:
            return f"`{op}` computes at run time which tensors it saves or restores", op
        met = {variable: number for number, variable, _ in uses}
        missing = [part.name for part in table.pieces if part.name not in met]
        if len(missing) == len(table.pieces):
            return f"`{op}` saves or restores its slot `{uses[0][1]}` without the variable", op
        if missing:
            return f"`{op}` saves or restores it without its part `{missing[0]}`", op
        if not _whole(table, met, names, slices):
            return f"`{op}` saves or restores slices of it", op
        for number, _, assignment in uses:
            if assignment and (view.users(assignment) or len(view.uses(Tensor(op, number))) != 1):
                return f"the value that `{op}` restores for it is also used elsewhere", op
    return None


def find_savers(view: GraphView, tables: Sequence[Table]) -> tuple[SaverPart, ...]:
    """Return every SaveV2 and RestoreV2 that includes one of the tables."""
    found: dict[str, list[SavedTable]] = {}
    for table in tables:
        for op, uses in _met(view, table.variables).items():
            names = _texts(view, op, 1) or []
            met = {variable: number for number, variable, _ in uses}
            pieces, *slots = (tuple(dict.fromkeys(names[met[one]] for one in group)) for group in _groups(table, met))
            numbers, _, assignments = zip(*uses, strict=True)
            found.setdefault(op, []).append(SavedTable(table.name, numbers, assignments, pieces, tuple(slots)))
    return tuple(_part(view, op, saved) for op, saved in found.items())


def _groups(table: Table, met: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Return the parts, then for each slot its variables, as far as the Saver has all of them."""
    groups = [tuple(part.name for part in table.pieces), *zip(*(part.slots for part in table.pieces), strict=True)]
    return [group for group in groups if all(one in met for one in group)]


def _whole(table: Table, met: Mapping[str, int], names: Sequence[str], slices: Sequence[str]) -> bool:
    """Whether the Saver's slices cover all rows of the parts in order, or it has no slices."""
    starts = accumulate((part.rows for part in table.pieces), initial=0)
    sizes, cuts = ("".join(form.format(size) for size in table.row) for form in (" {}", ":0,{}"))
    wanted = [
        f"{table.rows}{sizes} {start},{part.rows}{cuts}" for start, part in zip(starts, table.pieces, strict=False)
    ]
    for group in _groups(table, met):
        found = [slices[met[one]] for one in group]
        # Without slices each part is a tensor of its own; with slices all parts share one name.
        if any(found) and (found != wanted or len({names[met[one]] for one in group}) != 1):
            return False
    return True


def _part(view: GraphView, op: str, tables: list[SavedTable]) -> SaverPart:
    moved = {number for saved in tables for number in saved.numbers}
    texts = zip(_texts(view, op, 1) or [], _texts(view, op, 2) or [], strict=True)
    kept = [(number, *both) for number, both in enumerate(texts) if number not in moved]
    return SaverPart(op, view.type(op) == "RestoreV2", tuple(tables), tuple(kept))


def _met(view: GraphView, variables: Sequence[str]) -> dict[str, list[tuple[int, str, str]]]:
    """Return the variables in each SaveV2 or RestoreV2, as (position, variable, op that assigns the restored value)."""
    found: dict[str, list[tuple[int, str, str]]] = {}
    for variable in variables:
        for use in _uses(view, variable):
            kind = view.type(use.op)
            if kind == "SaveV2":
                found.setdefault(use.op, []).append((use.input - _FIRST_SAVED, variable, ""))
            elif kind in ASSIGNMENTS and use.input == 0 and (source := restored_by(view, use.op)):
                found.setdefault(source.op, []).append((source.output, variable, use.op))
    return found


def _uses(view: GraphView, op: str) -> Iterator[Use]:
    for use in view.users(op):
        yield use
        if view.type(use.op) in _READS:
            yield from _uses(view, use.op)


def _texts(view: GraphView, op: str, number: int) -> Sequence[str] | None:
    return view.texts(view.inputs(op)[number].op)
