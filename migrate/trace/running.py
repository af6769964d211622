"""Runs a program with the tracer in its Python processes, and makes one record of what they wrote."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from migrate.entering import run_entered
from migrate.trace.child.settings import NAME, VARIABLE, Settings
from migrate.trace.joining import joined
from migrate.trace.record import FORMAT, VERSION, Record


class Traced(NamedTuple):
    """What came of a run."""

    record: Record | None  #: None if no process made a TensorFlow graph or variable
    code: int  #: the exit code of the program; negative: the signal that ended it
    processes: int  #: that wrote a part of the record
    faults: tuple[str, ...]  #: what went wrong in the tracer


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
    return Traced(record, code, processes, faults)
