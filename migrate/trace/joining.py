"""Makes one record of the parts that the processes of a program wrote."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from migrate.errors import MigrateError
from migrate.trace.record import GraphRecord, Record, Variable, load_record


def joined(parts: Iterable[Path], command: Sequence[str], code: int) -> tuple[Record | None, int, tuple[str, ...]]:
    """Join the parts; return the record, the number of processes with graphs, and what went wrong in others.

    The order does not depend on the numbers of processes: the part with the most steps is first, and says how the run
    ended. A file that two processes read differently is left out of `files`, since nothing is known of it.
    """
    records: list[Record] = []
    faults: list[str] = []
    for path in parts:
        try:
            body = json.loads(path.read_text(encoding="utf-8"))
            faults += body.get("faults", [])
            if "error" in body:
                faults.append(str(body["error"]))
            else:
                records.append(load_record(path))
        except (MigrateError, ValueError, OSError) as error:
            faults.append(str(error))
    processes = sum(bool(one.graphs) for one in records)
    if not processes:
        return None, 0, tuple(faults)
    records.sort(key=lambda part: (not part.graphs, -part.steps, _without_files(part).dump()))
    first = records[0]
    record = replace(
        first,
        command=tuple(command),
        ended=_ended(first.ended, code),
        environment=_environment(records),
        faults=tuple(dict.fromkeys(faults)),
        files=_files(records),
        graphs=_graphs(records),
    )
    return record, processes, tuple(faults)


def _without_files(record: Record) -> Record:
    return replace(record, graphs=tuple(replace(one, graph="") for one in record.graphs))


def _ended(ended: str, code: int) -> str:
    if ended == "by itself" and code > 0:
        return f"by exit code {code}"
    if ended == "killed" and code < 0:
        return f"by {signal.Signals(-code).name}"
    return ended


def _environment(records: Sequence[Record]) -> dict[str, str | None]:
    """Return the variables of the first process that has each: one that is set in any process decides."""
    environment: dict[str, str | None] = {}
    for record in records:
        for name, value in record.environment.items():
            environment[name] = value if environment.get(name) is None else environment[name]
    return environment


def _files(records: Sequence[Record]) -> dict[str, str]:
    files: dict[str, set[str]] = {}
    for record in records:
        for path, digest in record.files.items():
            files.setdefault(path, set()).add(digest)
    return {path: next(iter(digests)) for path, digests in files.items() if len(digests) == 1}


def _graphs(records: Sequence[Record]) -> tuple[GraphRecord, ...]:
    """Return the graphs of all; those that several processes made are one."""
    graphs: dict[tuple[Variable, ...], GraphRecord] = {}
    for graph in (graph for record in records for graph in record.graphs):
        graphs.setdefault(graph.variables, graph)
    return tuple(graphs.values())
