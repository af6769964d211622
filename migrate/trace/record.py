"""The record of a run: the variables of its graphs, what uses each, and what becomes of it in the graph.

It holds no values and no data. Paths are relative to `root`, the directory that the program was traced in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from migrate.errors import MigrateError
from migrate.regular_files import read_regular
from migrate.report.decode import decode

FORMAT = "recmigrate-trace"
VERSION = 3

#: One line of the program: (path relative to the root, line from 1).
Line = tuple[str, int]


@dataclass(frozen=True)
class Use:
    """One op that reads or writes a variable."""

    op: str  #: the type of the op, such as `ResourceGather`
    name: str  #: the name of the op in its graph
    at: tuple[Line, ...]  #: the program's lines in the op's call stack, the innermost first


@dataclass(frozen=True)
class Variable:
    """One variable of a graph."""

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    created: tuple[Line, ...]  #: the program's lines in the call stack that made it, or its layer, the innermost first
    uses: tuple[Use, ...] = ()
    table: str = ""  #: the verdict on the graph: the name by which `rewriter.install` moves it; empty if it does not
    rules: tuple[str, ...] = ()  #: of the optimizers that train that table
    stays: str = ""  #: why it stays a variable; empty if it moves, or if nothing looks it up
    fault: str = ""  #: the name of the op of its `uses` that keeps it; empty if it moves, or if it is none of these
    bound: str = ""  #: why its table cannot grow, with a way out if there is one; empty if it can, or is not known


@dataclass(frozen=True)
class GraphRecord:
    """One graph of version 1, with the functions that it calls."""

    variables: tuple[Variable, ...] = ()
    graph: str = ""  #: the file that has the graph, in the folder beside the record; empty if there is none
    growth: tuple[str, ...] = ()  #: which tables can grow, and what bounds the others: a sentence for each bound


@dataclass(frozen=True)
class Record:
    """What one run of a program did."""

    command: tuple[str, ...]
    ended: str  #: how the run ended, for people: `after 20 steps`, `by itself`, `by SystemExit(1)`, …
    steps: int  #: training steps that were taken
    python: str
    tensorflow: str
    environment: Mapping[str, str | None]  #: variables that decide, such as `TF_CONFIG`
    files: Mapping[str, str]  #: path -> sha256 of each file of the program that ran
    graphs: tuple[GraphRecord, ...]
    faults: tuple[str, ...] = ()  #: what went wrong in the tracer: the record may lack something
    entry: str = ""  #: the path of the file of the program that ran first

    def dump(self) -> str:
        """Return the record as JSON with sorted keys: the same run gives the same text."""
        body = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps(body, indent=1, sort_keys=True) + "\n"


def load_record(path: Path) -> Record:
    """Read a record. Raises MigrateError if the file cannot be read, or is no record of this version."""
    try:
        body = json.loads(read_regular(path))
    except OSError as error:
        raise MigrateError(f"{path}: cannot be read ({error.strerror}); name a record of `migrate trace`") from error
    except (ValueError, RecursionError) as error:
        raise MigrateError(f"{path}: not a record of `migrate trace` (no JSON); run `migrate trace` again") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise MigrateError(f"{path}: not a record of `migrate trace`; run `migrate trace -o FILE -- python …`")
    if body.get("version") != VERSION:
        raise MigrateError(
            f"{path}: a record of version {body.get('version')}, but this program reads {VERSION}; trace again"
        )
    return decode(Record, body, str(path), "a damaged record: run `migrate trace` again")
