"""Records of runs, written by hand: the line that makes a variable is given by a piece of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from migrate.source.driver.run import convert_paths
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Given, Options
from migrate.trace.record import GraphRecord, Line, Record, Variable


def line(files: Mapping[str, str], piece: str) -> Line:
    """Return the one line of the files that contains `piece`."""
    found = [(name, n) for name, text in files.items() for n, one in enumerate(text.split("\n"), 1) if piece in one]
    assert len(found) == 1, (piece, found)
    return found[0]


def record(
    files: Mapping[str, str],
    *,
    made: str = "get_variable(",
    table: str = "item",
    stays: str = "",
    fault: str = "",
) -> Record:
    """Return the record of a run in which one variable is made, by the line that holds the piece `made`.

    Of the variable the graph says what `table`, `stays` and `fault` say.
    """
    rules = ("adagrad",) if table else ()
    variable = Variable("item", (100, 4), "float32", (line(files, made),), (), table, rules, stays, fault)
    return Record(
        ("python", "main.py"),
        "by itself",
        3,
        "3.11.7",
        "2.15.1",
        {"TF_CONFIG": None},
        {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
        (GraphRecord((variable,), "graph0.meta"),),
        entry=next(iter(files)),
    )


def with_record(root: Path, *records: Record, assume: bool = False, **given: Any) -> Options:
    """Return the options that give these records as evidence; they are written beside `root`."""
    places = []
    for number, one in enumerate(records):
        places.append(str(root.parent / f"run{number}.json"))
        Path(places[-1]).write_text(one.dump())
    return Options(overrides=Given(assume=assume, evidence=tuple(places), **given))


def convert_with(root: Path, *records: Record, assume: bool = False, **given: Any) -> dict[str, SourceResult]:
    """Convert the files below `root` with these records as evidence; return name -> result."""
    done = convert_paths([str(root)], with_record(root, *records, assume=assume, **given))
    return {one.source.relative.as_posix(): one.result for one in done}
