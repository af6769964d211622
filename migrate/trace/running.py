"""Runs a program with the tracer in its Python processes, and makes one record of what they wrote."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from migrate.entering import run_entered
from migrate.trace.child.settings import NAME, VARIABLE, Settings
from migrate.trace.joining import joined
from migrate.trace.judging import judged
from migrate.trace.record import FORMAT, VERSION, Record


class Traced(NamedTuple):
    """What came of a run."""

    record: Record | None  #: None if no process made a TensorFlow graph or variable
    code: int  #: the exit code of the program; negative: the signal that ended it
    processes: int  #: that wrote a part of the record
    faults: tuple[str, ...]  #: what went wrong in the tracer
    graphs: Mapping[str, bytes]  #: files of the graphs, by the names in the record


def run_traced(command: Sequence[str], root: Path, steps: int) -> Traced:
    """Run `command` and return what was recorded. The program has the streams of this process.

    Raises:
        MigrateError: the command cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="migrate-trace-") as folder:
        site, parts = Path(folder, "site"), Path(folder, "parts")
        site.mkdir()
        parts.mkdir()
        header = {"format": FORMAT, "version": VERSION}
        settings = Settings(str(root.resolve()), str(parts), steps, header)
        child = {NAME: Path(__file__).parent / "child"}
        code = run_entered(command, child, site, {VARIABLE: settings.text()})
        record, processes, faults = joined(sorted(parts.glob("*.json")), command, code)
        record, graphs = (None, {}) if record is None else _kept(judged(record, parts), parts)
    return Traced(record, code, processes, faults, graphs)


def _kept(record: Record, folder: Path) -> tuple[Record, dict[str, bytes]]:
    """Return the record with names of its own for the files of its graphs, and these files."""
    found: dict[str, bytes] = {}
    graphs = []
    for number, graph in enumerate(record.graphs):
        name = f"graph{number}.meta" if graph.graph else ""
        graphs.append(replace(graph, graph=name))
        if name:
            found[name] = (folder / graph.graph).read_bytes()
    return replace(record, graphs=tuple(graphs)), found
