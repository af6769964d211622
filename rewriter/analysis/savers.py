"""Savers that the graph already has: how they save and restore variables that become tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rewriter.facts import ASSIGNMENTS, Table
from rewriter.graph.view import GraphView, Tensor, Use
from runtime.table.clusters.servers import shards_on

_READS = ("ReadVariableOp", "Identity")
_FED = ("PlaceholderWithDefault", "Placeholder")
# Inputs 0 to 2 of SaveV2 are prefix, names and slices; tensors follow.
_FIRST_SAVED = 3


@dataclass(frozen=True)
class SavedTable:
    """A table in a SaveV2 or RestoreV2: the positions of its variables there, and the ops that assign restored values.

    `pieces` are the variable's names in the checkpoint: one, or one for each part that is saved as a tensor of its own.
    `slots` are the same for each slot. An op of a sharded Saver that has the parts on one server, of several, has the
    shard of the table that is there.
    """

    table: str
    numbers: tuple[int, ...]
    assignments: tuple[str, ...]
    pieces: tuple[str, ...]
    slots: tuple[tuple[str, ...], ...]
    shard: int | None = None

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
    value = view.behind(view.inputs(assignment)[1], ("Identity", "Reshape"))
    # A RestoreV2 with a constant prefix is an initial value (init_from_checkpoint), not a Saver.
    fed = view.type(value.op) == "RestoreV2" and view.type(view.inputs(value.op)[0].op) in _FED
    return value if fed else None


def why_not_saved(view: GraphView, table: Table) -> tuple[str, str] | None:
    """Return why the graph's Savers could not save a table instead, with the op that prevents it; None if they can."""
    met = _met(view, table.variables)
    for op in met:
        if _texts(view, op, 1) is None or _texts(view, op, 2) is None:
            return f"`{op}` computes at run time which tensors it saves or restores", op
    for ops in _savers(view, table, met):
        saved = _saved(view, {op: met[op] for op in ops})
        missing = [part.name for part in table.pieces if part.name not in saved]
        if len(missing) == len(table.pieces):
            return f"`{ops[0]}` saves or restores its slot `{next(iter(saved))}` without the variable", ops[0]
        if missing:
            return f"`{ops[0]}` saves or restores it without its part `{missing[0]}`", ops[0]
        if not _whole(table, saved):
            return f"`{ops[0]}` saves or restores slices of it", ops[0]
    for op, uses in met.items():
        for number, _, assignment in uses:
            if assignment and (view.users(assignment) or len(view.uses(Tensor(op, number))) != 1):
                return f"the value that `{op}` restores for it is also used elsewhere", op
    return None


def find_savers(view: GraphView, tables: Sequence[Table]) -> tuple[SaverPart, ...]:
    """Return every SaveV2 and RestoreV2 that includes one of the tables."""
    savers: dict[str, list[SavedTable]] = {}
    for table in tables:
        met = _met(view, table.variables)
        for ops in _savers(view, table, met):
            saved = _saved(view, {op: met[op] for op in ops})
            pieces, *slots = (tuple(dict.fromkeys(saved[one][0] for one in group)) for group in _groups(table, saved))
            for op in ops:
                numbers, variables, assignments = zip(*met[op], strict=True)
                shard = server_of(view, table, variables[0]) if len(ops) > 1 else None
                own = SavedTable(table.name, numbers, assignments, pieces, tuple(slots), shard)
                savers.setdefault(op, []).append(own)
    return tuple(_part(view, op, saved) for op, saved in savers.items())


def server_of(view: GraphView, table: Table, variable: str) -> int:
    """Return the number of the shard of a table that is on the device of one of its variables; 0 where it has none."""
    devices = list(dict.fromkeys(view.nodes[piece.name].device for piece in table.pieces))
    device = view.nodes[variable].device
    return devices.index(device) if device in devices else 0


def servers_of(view: GraphView, table: Table) -> int:
    """Return on how many parameter servers a table has shards."""
    return len(shards_on(table.name, (view.nodes[piece.name].device for piece in table.pieces)))


def _savers(view: GraphView, table: Table, met: Mapping[str, Sequence[tuple[int, str, str]]]) -> list[list[str]]:
    """Return the ops of each Saver: one, or of a sharded Saver one for each server that has parts of the table."""
    savers: dict[tuple[str, Tensor], list[str]] = {}
    for op in met:
        path = view.inputs(op)[0]
        if view.type(path.op) == "ShardedFilename":
            path = view.inputs(path.op)[0]
        savers.setdefault((view.type(op), path), []).append(op)
    parts = {piece.name for piece in table.pieces}
    tensors = []
    for ops in savers.values():
        # Several ops that each have a part, and each those of its own server, are one Saver.
        servers = [{server_of(view, table, one) for _, one, _ in met[op] if one in parts} for op in ops]
        apart = all(len(own) == 1 for own in servers) and len(set.union(*servers)) == len(ops)
        tensors += [ops] if apart else [[op] for op in ops]
    return tensors


def _saved(view: GraphView, met: Mapping[str, Sequence[tuple[int, str, str]]]) -> dict[str, tuple[str, str]]:
    """Return variable -> its name and its slice in the checkpoint of the ops of a Saver."""
    texts = {op: (_texts(view, op, 1) or [], _texts(view, op, 2) or []) for op in met}
    return {
        variable: (texts[op][0][number], texts[op][1][number])
        for op, uses in met.items()
        for number, variable, _ in uses
    }


def _groups(table: Table, met: Collection[str]) -> list[tuple[str, ...]]:
    """Return the parts, then for each slot its variables, as far as the Saver has all of them."""
    groups = [tuple(part.name for part in table.pieces), *zip(*(part.slots for part in table.pieces), strict=True)]
    return [group for group in groups if all(one in met for one in group)]


def _whole(table: Table, saved: Mapping[str, tuple[str, str]]) -> bool:
    """Whether the Saver's slices cover all rows of the parts in order, or it has no slices."""
    starts = accumulate((part.rows for part in table.pieces), initial=0)
    sizes, cuts = ("".join(form.format(size) for size in table.row) for form in (" {}", ":0,{}"))
    wanted = [
        f"{table.rows}{sizes} {start},{part.rows}{cuts}" for start, part in zip(starts, table.pieces, strict=False)
    ]
    for group in _groups(table, saved):
        slices = [saved[one][1] for one in group]
        # Without slices each part is a tensor of its own; with slices all parts share one name.
        if any(slices) and (slices != wanted or len({saved[one][0] for one in group}) != 1):
            return False
    return True


def _part(view: GraphView, op: str, tables: list[SavedTable]) -> SaverPart:
    moved = {number for saved in tables for number in saved.numbers}
    texts = zip(_texts(view, op, 1) or [], _texts(view, op, 2) or [], strict=True)
    kept = [(number, *both) for number, both in enumerate(texts) if number not in moved]
    return SaverPart(op, view.type(op) == "RestoreV2", tuple(tables), tuple(kept))


def _met(view: GraphView, variables: Sequence[str]) -> dict[str, list[tuple[int, str, str]]]:
    """Return the variables in each SaveV2 or RestoreV2, as (position, variable, op that assigns the restored value)."""
    places: dict[str, list[tuple[int, str, str]]] = {}
    for variable in variables:
        for use in _uses(view, variable):
            kind = view.type(use.op)
            if kind == "SaveV2":
                places.setdefault(use.op, []).append((use.input - _FIRST_SAVED, variable, ""))
            elif kind in ASSIGNMENTS and use.input == 0 and (source := restored_by(view, use.op)):
                places.setdefault(source.op, []).append((source.output, variable, use.op))
    return places


def _uses(view: GraphView, op: str) -> Iterator[Use]:
    for use in view.users(op):
        yield use
        if view.type(use.op) in _READS:
            yield from _uses(view, use.op)


def _texts(view: GraphView, op: str, number: int) -> Sequence[str] | None:
    return view.texts(view.inputs(op)[number].op)
