"""Runs a program with the tracer in its Python processes, and makes one record of what they wrote."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from migrate.entering import NOTHING_ENTERED, part_paths, run_entered, without_tensorflow
from migrate.trace.child.settings import Settings
from migrate.trace.joining import joined
from migrate.trace.judging import judged
from migrate.trace.record import FORMAT, VERSION, Record


class Traced(NamedTuple):
    """What came of a run."""

    record: Record | None  #: None if no session of a process ran a graph with variables
    code: int  #: the exit code of the program; negative: the signal that ended it
    processes: int  #: that wrote a part of the record
    faults: tuple[str, ...]  #: what went wrong in the tracer
    graphs: Mapping[str, bytes]  #: files of the graphs, by the names in the record
    lacking: str = ""  #: what to do where a Python of the program has no TensorFlow, or none imported it


def run_traced(command: Sequence[str], root: Path, steps: int) -> Traced:
    """Run `command` and return what was recorded. The program has the streams of this process.

    Raises:
        MigrateError: the command cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="migrate-trace-") as folder:
        settings = Settings(str(root.resolve()), steps, {"format": FORMAT, "version": VERSION})
        code = run_entered(command, Path(folder), "trace", {"trace": settings._asdict()})
        record, processes, faults = joined(part_paths(Path(folder)), command, code)
        parts = Path(folder, "parts")
        record, graphs = (None, {}) if record is None else _kept(judged(record, parts), parts)
        entered = code != 0 or bool(part_paths(Path(folder)))
        lacking = without_tensorflow(Path(folder)) or ("" if entered else NOTHING_ENTERED)
    return Traced(record, code, processes, faults, graphs, lacking)


def _kept(record: Record, folder: Path) -> tuple[Record, dict[str, bytes]]:
    """Return the record with names of its own for the files of its graphs, and these files."""
    kept: dict[str, bytes] = {}
    graphs = []
    for number, graph in enumerate(record.graphs):
        name = f"graph{number}.meta" if graph.graph else ""
        graphs.append(replace(graph, graph=name))
        if name:
            kept[name] = (folder / graph.graph).read_bytes()
    return replace(record, graphs=tuple(graphs)), kept
