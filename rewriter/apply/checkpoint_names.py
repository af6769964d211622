"""What checkpoints call a variable that became a table and its slots, and how these lie in the table's rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate

from rewriter.facts import Table


def names_in_checkpoints(table: Table) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the names of the variable's parts in a checkpoint of the original model, and the same for each slot.

    Parts made by a partitioner are one tensor there, under the name of the whole variable.
    """
    first = table.pieces[0]
    if first.name != table.name:
        return (table.name,), tuple((f"{table.name}/{slot[len(first.name) + 1 :]}",) for slot in first.slots)
    return tuple(part.name for part in table.pieces), tuple(zip(*(part.slots for part in table.pieces), strict=True))


def layout(table: Table, names: Sequence[str], slots: Sequence[Sequence[str]]) -> str:
    """Return as JSON which rows of the table are those of each name in a checkpoint, and which column of the slots."""
    parts, runs = len(table.pieces), [[0, 1, table.rows]]
    if table.strategy == "mod":
        runs = [[number, parts, part.rows] for number, part in enumerate(table.pieces)]
    elif parts > 1:
        starts = accumulate((part.rows for part in table.pieces), initial=0)
        runs = [[start, 1, part.rows] for start, part in zip(starts, table.pieces, strict=False)]
    groups = [(0.0, names), *(zip(table.starts, slots, strict=True) if len(slots) == len(table.starts) else ())]
    columns = [
        [name, number, start, runs if len(group) == 1 else [runs[at]]]
        for number, (start, group) in enumerate(groups)
        for at, name in enumerate(group)
    ]
    return json.dumps({"row": table.row, "columns": columns})
