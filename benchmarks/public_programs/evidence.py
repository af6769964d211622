"""Traces a program, converts it with the record, and proves what came of it: by `migrate verify`, and by training."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.public_programs.comparing import RECORD, difference, environment, place_of, prepared, run
from benchmarks.public_programs.programs import Evidence, Program, Recording
from migrate.report.model import Applicability, Report, State
from migrate.report.serialize import read_report
from migrate.source.evidence.in_graph import RULE, table_of
from migrate.trace.record import Record, load_record

__all__ = ["prove", "what_became"]

#: Steps of a program that are traced, and that are compared.
_TRACED, _COMPARED = 3, 4
_SECONDS = 900


def prove(program: Program, clones: Path, work: Path, known: Recording | None) -> Evidence:
    """Return what became of the looked-up variables of a program; what earlier runs left below `work` is taken.

    `known` is what the original gave before.

    Raises:
        subprocess.CalledProcessError: the clone lacks the commit.
    """
    place = place_of(program, work) / "evidence"
    place.mkdir(parents=True, exist_ok=True)
    original, converted = place / "original", place / "converted"
    if not original.exists():
        shutil.move(prepared(program, clones / program.clone, place), original)
    error = _trace(program, original, place) or _convert(original, converted, place)
    if error:
        return Evidence(error=error)
    variables = what_became(read_report(place / "report.json"), load_record(place / "trace.json"))
    trained = _trained(program, original, converted, place, known)
    verified = _verified(program, original, converted, place)
    return Evidence(variables, "", trained, **verified)


def _trace(program: Program, original: Path, place: Path) -> str:
    """Record a run, and return why there is no record, or ""."""
    record = place / "trace.json"
    if not record.exists():
        running = place / "program"
        _copied(running, original)
        command = [*_migrate("trace", "--root", running, "--steps", _TRACED, "-o", record), "--"]
        _call([*command, sys.executable, RECORD], program, running, place / "trace")
    return "" if record.exists() else f"not traced: {_last(place / 'trace.txt')}"


def _convert(original: Path, converted: Path, place: Path) -> str:
    """Convert the program, and return why that fails, or ""."""
    report = place / "report.json"
    if not report.exists():
        shutil.rmtree(converted, ignore_errors=True)
        options = ("--evidence", place / "trace.json", "--report", report, "-o", converted, "--no-cache")
        _output(_migrate("convert", ".", "--no-gitignore", *options), original, place / "convert")
    return "" if report.exists() else f"not converted: {_last(place / 'convert.txt')}"


def what_became(report: Report, record: Record) -> dict[str, str]:
    """Return what becomes of each variable that the graphs look up: "in source", "in graph", or why it stays."""
    moved = {name for one in report.findings if one.rule == RULE for name in _names(one.after or "")}
    converted = [one for one in report.tables if one.verdict is State.APPLIED]
    spelled = [one for one in converted if one.applicability is not Applicability.IN_GRAPH]
    found: dict[str, str] = {}
    for variable in (one for graph in record.graphs for one in graph.variables if one.table or one.stays):
        if table_of(variable, variable.created, spelled):
            found[variable.name] = "in source"
        elif variable.table in moved:
            found[variable.name] = "in graph"
        else:
            found.setdefault(variable.name, variable.stays or "the source decides otherwise")
    return found


def _names(line: str) -> list[str]:
    """Return the names of tables in the line that moves them."""
    return list(json.loads("[" + line.partition("[")[2].rpartition("]")[0].strip().rstrip(",") + "]")) if line else []


def _trained(program: Program, original: Path, converted: Path, place: Path, known: Recording | None) -> float | None:
    """Return how far the converted program is from the original, from the seeds of both; None if it fails."""
    kept = place / "trained.json"
    if not kept.exists():
        whole = place / "whole"
        _copied(whole, original, *[converted] if converted.exists() else [])
        first = known or run(program, original, place / "first", _SECONDS, ())
        second = run(program, whole, place / "second", _SECONDS, (), converted=True)
        far = None if second.error or len(second.values) < len(first.values) else difference(first, second)
        kept.write_text(json.dumps({"difference": far, "second": asdict(second)}))
    far = json.loads(kept.read_text())["difference"]
    return None if far is None else float(far)


def _verified(program: Program, original: Path, converted: Path, place: Path) -> dict[str, Any]:
    """Return how many tensors `migrate verify` finds equal, and what it says else."""
    report = place / "verify.json"
    if not converted.exists():
        return {"said": "nothing changed"}
    if not (place / "verify.txt").exists():
        options = ("--steps", _COMPARED, "--batches", 1, "--report", report)
        command = [*_migrate("verify", original, converted, *options), "--", sys.executable, RECORD]
        _call(command, program, original, place / "verify")
    if not report.exists():
        return {"said": _last(place / "verify.txt").replace(f"{place}/", "")}
    compared = [one for found in json.loads(report.read_text())["verification"] for one in found["comparisons"]]
    differing = [one["name"] for one in compared if one["verdict"] != "equal"]
    return {"compared": len(compared), "differing": tuple(differing)}


def _call(command: Sequence[object], program: Program, running: Path, own: Path) -> None:
    _output(
        command, running / program.folder, own, environment(program, running, own.with_suffix(".values"), steps=999)
    )


def _output(command: Sequence[object], folder: Path, own: Path, variables: Mapping[str, str] | None = None) -> None:
    with own.with_suffix(".txt").open("w") as output:
        try:
            subprocess.run(
                [str(one) for one in command],
                cwd=folder,
                env=variables,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            output.write(f"\nit takes longer than {_SECONDS} seconds\n")


def _migrate(*given: object) -> list[object]:
    return [sys.executable, "-m", "migrate", *given]


def _copied(target: Path, *sources: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    for source in sources:
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)


def _last(output: Path) -> str:
    lines = output.read_text(errors="replace").splitlines() if output.exists() else []
    return next((one for one in reversed(lines) if one.strip()), "it ends at once")
