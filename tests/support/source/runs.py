"""Records of runs, written by hand: each use of a variable is given with a piece of the line where it stands."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from migrate.source.driver.run import convert_paths
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Given, Options
from migrate.trace.record import GraphRecord, Line, Record, Use, Variable

#: A use: kind, type of the op, name of the op, and pieces of the lines of its call stack, the innermost first, with
#: ` < ` between them; then what made it for the program, if anything did.
Told = tuple[str, str, str, str] | tuple[str, str, str, str, str]
LOOKUP: Told = ("lookup", "ResourceGather", "embedding_lookup", "embedding_lookup(")
UPDATE: Told = ("update", "ResourceSparseApplyAdagradV2", "Adagrad/update_item/ResourceSparseApply", "minimize(")
INITIAL: Told = ("assign", "AssignVariableOp", "item/Assign", "get_variable(")


def line(files: Mapping[str, str], piece: str) -> Line:
    """Return the one line of the files that contains `piece`."""
    found = [(name, n) for name, text in files.items() for n, one in enumerate(text.split("\n"), 1) if piece in one]
    assert len(found) == 1, (piece, found)
    return found[0]


def record(
    files: Mapping[str, str],
    uses: Sequence[Told] = (LOOKUP, UPDATE, INITIAL),
    *,
    idle: Sequence[str] = (),
    made: str = "get_variable(",
    environment: Mapping[str, str | None] | None = None,
    table: str = "item",
    optimizers: int = 1,
    stays: str = "",
) -> Record:
    """Return the record of a run of all lines but those that contain a piece of `idle`.

    One variable is made, of which the graph says what `table` and `stays` say.
    """
    told = tuple(_use(files, *one) for one in uses)
    place = (line(files, made),)
    variable = Variable("item", (100, 4), "float32", True, place, (), told, table, optimizers, stays)
    left_out = {line(files, piece) for piece in idle}
    ran = {name: [n + 1 for n in range(text.count("\n"))] for name, text in files.items()}
    return Record(
        ("python", "main.py"),
        "by itself",
        3,
        "3.11.7",
        "2.15.1",
        {"TF_CONFIG": None} if environment is None else environment,
        {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
        {name: tuple(n for n in lines if (name, n) not in left_out) for name, lines in ran.items()},
        (GraphRecord("graph", (variable,), graph="graph0.meta"),),
        entry=next(iter(files)),
    )


def _use(files: Mapping[str, str], kind: str, op: str, name: str, pieces: str, through: str = "") -> Use:
    return Use(kind, op, name, tuple(line(files, piece) for piece in pieces.split(" < ")), through=through)


def convert_with(root: Path, *records: Record, assume: bool = False, **given: Any) -> dict[str, SourceResult]:
    """Convert the files below `root` with these records as evidence; return name -> result."""
    places = []
    for number, one in enumerate(records):
        places.append(str(root.parent / f"run{number}.json"))
        Path(places[-1]).write_text(one.dump())
    done = convert_paths([str(root)], Options(given=Given(assume=assume, evidence=tuple(places), **given)))
    return {one.source.relative.as_posix(): one.result for one in done}
