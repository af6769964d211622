"""Findings about the tables of a static model: which there are, and what a parameter server does that tables do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from migrate.report.model import Applicability, Finding, Location, State, TableRecord
from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.values import Described, Value

_SETTINGS = "table_parameters"


def tables(path: str, name: str, program: Program) -> Iterator[Finding]:
    """Yield what became of each call in a file that looks up rows, and of its rule for new ids.

    Args:
        path: the file, as reports show it.
        name: its name in the model's folder.
        program: the executed static model.
    """
    for one in _places(program, name):
        rows, dim = one.arguments["size"]
        table = one.name or "a table of its own"
        message = f"`{table}` [{rows}, {dim}] is a table that grows; ids beyond {rows} get rows"
        applied = {"applicability": Applicability.EXACT, "table": one.name}
        yield Finding("paddle-embedding", "table", State.APPLIED, _at(path, one), message, **applied)
        entry = one.arguments.get("entry")
        if isinstance(entry, Described):
            yield _entry(path, one, entry)


def _entry(path: str, one: Any, entry: Described) -> Finding:
    if entry.name.endswith("CountFilterEntry"):
        count = entry.arguments["count_filter"]
        message = f"an id gets a row at its {count}. occurrence, as with Paddle's servers; until then it reads zeros"
        return Finding("paddle-entry", "table", State.APPLIED, _at(path, one), message, table=one.name)
    if entry.name.endswith("ProbabilityEntry"):
        chance = entry.arguments["probability"]
        message = f"an id gets a row at each occurrence with probability {chance}; until then it reads zeros"
        reason = (
            "which occurrence it is follows from the table's seed and the id, where Paddle's servers draw a "
            "random number"
        )
        shown = (_at(path, one), message, reason, "", Applicability.CHANGES_VALUES)
        return Finding("paddle-entry", "table", State.APPLIED, *shown, table=one.name)
    texts = (
        "`ShowClickEntry` has no effect: every id gets a row, and its shows and clicks are not kept",
        "Paddle's servers drop rows with few shows and clicks; tables count occurrences only",
        "to admit ids by their count, give `paddle.distributed.CountFilterEntry(n)` instead",
    )
    return Finding("paddle-entry", "table", State.SUGGESTED, _at(path, one), *texts, table=one.name)


def server(path: str, program: Program, settings: dict[str, Value]) -> Iterator[Finding]:
    """Yield that the configuration of the parameter server is not read, if there is one."""
    if program.lookups and any(name.startswith(f"{_SETTINGS}.") for name in settings):
        message = f"`{_SETTINGS}` of the configuration has no effect; rows train with the optimizer of this file"
        reason = "a parameter server has optimizers of its own for rows, and rules when rows are dropped"
        texts = (message, reason, "give `create_optimizer` the optimizer that rows are to train with")
        yield Finding("paddle-server", "optimizer", State.SUGGESTED, Location(path, 1, 1), *texts)


def records(path: str, name: str, program: Program, optimizer: str) -> Iterator[TableRecord]:
    """Yield each table that a file makes, once."""
    for one in {one.name or one.place: one for one in reversed(list(_places(program, name)))}.values():
        rows, dim = one.arguments["size"]
        attr = one.arguments["param_attr"]
        start = attr.arguments.get("initializer") if isinstance(attr, Described) else None
        yield TableRecord(
            name=one.name or "embedding",
            location=_at(path, one),
            verdict=State.APPLIED,
            applicability=Applicability.EXACT,
            dim=str(dim),
            rows=str(rows),
            initializer=start.name.rpartition(".")[2] if isinstance(start, Described) else "XavierUniform",
            optimizer=optimizer,
        )


def _places(program: Program, name: str) -> Iterable[Any]:
    """Return the lookups of a file, one for each place and table."""
    return {(one.place, one.name): one for one in program.lookups if one.place[0] == name}.values()


def _at(path: str, one: Any) -> Location:
    return Location(path, one.place[1][0], one.place[1][2])
