"""Which eager programs of public repositories convert, equal Paddle, and train: each as `programs.yaml` says.

python -m benchmarks.paddle.programs DIRECTORY [--list FILE] [--only NAME] [--keep FOLDER] [--seconds 400]

DIRECTORY has a checkout of each repository as `OWNER+NAME`. A program's folder is copied, its data made by
`benchmarks.paddle.program_data`, the copy converted by `migrate convert --copy-rest`, and its entry proven by `migrate
verify` with the steps, options and arguments of the list. Prints a Markdown table. `files` of the list are written into
the copy, as `replace` texts are where Paddle 2.6.2 does not run the original, or its sizes are large.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from benchmarks.paddle import program_data
from benchmarks.paddle.models import replaced
from migrate.errors import MigrateError

LIST = Path(__file__).with_name("programs.yaml")
HEADS = ("repository", "program", "shape", "converts", "tensors equal", "loss differs by", "what else")


@dataclass(frozen=True)
class Program:
    """One program of the list."""

    repository: str  #: OWNER/NAME
    commit: str
    entry: str  #: the file that is run, relative to the folder
    shape: str  #: how it trains
    folder: str = "."  #: in the repository: what is copied
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  #: of `migrate verify`
    steps: int = 24
    data: Mapping[str, str] = field(default_factory=dict)  #: path in the folder -> the function that makes it
    files: Mapping[str, str] = field(default_factory=dict)  #: path in the folder -> its text
    replace: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  #: file -> text in it -> another
    note: str = ""


@dataclass
class Row:
    """What was found of one program."""

    program: Program
    converts: str = "no"
    equal: str = "–"
    loss: str = "–"
    reason: str = ""


def main(given: Sequence[str] | None = None) -> int:
    """Run the program; 0 when all of the list were tried."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--list", type=Path, default=LIST)
    parser.add_argument("--only", action="append", default=[], help="a part of an entry or a repository, repeatable")
    parser.add_argument("--keep", type=Path, help="folder for the copies (default: a temporary one)")
    parser.add_argument("--seconds", type=float, default=400, help="time for a proof")
    options = parser.parse_args(given)
    chosen = [
        one
        for one in programs_of(options.list)
        if not options.only or any(word in f"{one.repository}/{one.folder}/{one.entry}" for word in options.only)
    ]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, program in enumerate(chosen):
            place = (options.keep or Path(scratch)) / f"{number}-{Path(program.entry).stem}"
            rows.append(tried(program, options.directory, place, options.seconds))
            print(line(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(table(rows)))
    return 0


def programs_of(path: Path) -> list[Program]:
    """Read a list of programs. Raises `MigrateError` for an unknown or a missing key."""
    known = {one.name for one in fields(Program)}
    found = []
    for given in yaml.safe_load(path.read_text(encoding="utf-8")):
        unknown = given.keys() - known
        if unknown or not {"repository", "commit", "entry", "shape"} <= given.keys():
            told = f"has no key `{min(unknown)}`" if unknown else "needs repository, commit, entry and shape"
            raise MigrateError(f"{path}: `{given.get('entry', given)}` {told}: correct the list")
        words = {key: tuple(map(str, given.get(key, ()))) for key in ("arguments", "options")}
        found.append(Program(**{**given, **words}))
    return found


def tried(program: Program, directory: Path, place: Path, seconds: float) -> Row:
    """Copy, convert and verify one program."""
    row = Row(program, reason=program.note)
    try:
        original, converted = prepared(program, directory, place), place / "converted"
        row.converts, why = convert(original, converted, program.entry)
        if row.converts == "no":
            row.reason = why
            return row
        report = place / "proof.json"
        output = run(
            ["verify", original / program.entry, converted / program.entry, "--report", report],
            ["--steps", program.steps, *program.options, *(["--", *program.arguments] if program.arguments else [])],
            seconds=seconds,
        )
        if not report.is_file():
            told = [text.removeprefix("migrate: ") for text in output.splitlines() if text.startswith("migrate: ")]
            raise MigrateError((told or output.strip().splitlines() or ["no output"])[-1])
        row.equal, row.loss = judged(json.loads(report.read_text(encoding="utf-8"))["verification"][0]["comparisons"])
    except (MigrateError, OSError) as error:
        row.reason = str(error).splitlines()[0].replace(f"{place}/", "")
    return row


def prepared(program: Program, directory: Path, place: Path) -> Path:
    """Return a copy of a program's folder with its data and its other texts."""
    source = directory / program.repository.replace("/", "+") / program.folder
    if not source.is_dir():
        raise MigrateError(f"{source}: is not there; check {program.repository} out at {program.commit}")
    shutil.rmtree(place, ignore_errors=True)
    copy = replaced(source, place / "original", program.replace)
    for name, text in program.files.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(text, encoding="utf-8")
    for name, maker in program.data.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        program_data.MAKERS[maker](copy / name)
    return copy


def convert(original: Path, converted: Path, entry: str) -> tuple[str, str]:
    """Convert a folder; return whether its entry may be run, and why not."""
    report = converted.with_name("conversion.json")
    run(["convert", original, "-o", converted, "--copy-rest", "--report", report], seconds=300)
    if not report.is_file():
        return "no", "`migrate convert` wrote no report"
    findings = json.loads(report.read_text(encoding="utf-8"))["findings"]
    own = [one for one in findings if f"/{entry}" in one["location"]["path"]]
    stays = [one for one in own if one["state"] in ("unsupported", "failed")]
    if stays or not (converted / entry).is_file():
        return "no", f"{stays[0]['message']}: {stays[0]['reason']}" if stays else "the entry is not converted"
    return "yes", ""


def run(*words: Sequence[object], seconds: float) -> str:
    """Run `migrate` with these words; return what it prints. Raises `MigrateError` where it takes longer."""
    command = [sys.executable, "-m", "migrate", *(str(word) for part in words for word in part)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            return process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)  # its workers, too; it removes its files
            raise MigrateError(f"takes longer than {seconds:.0f} s") from None


def judged(comparisons: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return how many tensors are equal, and by how much the losses differ, of batches and of steps."""
    equal = sum(one["verdict"] == "equal" for one in comparisons)
    losses = [one["max_rel"] for one in comparisons if one["name"] == "loss"]
    return f"{equal} of {len(comparisons)}", f"{max(losses):.1e}" if losses else "–"


def line(row: Row) -> str:
    """Return a row of the table."""
    program = row.program
    name = Path(program.entry).name
    cells = [program.repository, name, program.shape, row.converts, row.equal, row.loss, row.reason]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table, and the counts."""
    yield "| " + " | ".join(HEADS) + " |"
    yield "|" + "---|" * len(HEADS)
    yield from map(line, rows)
    proven = [row for row in rows if row.equal != "–" and len(set(row.equal.split(" of "))) == 1]
    yield ""
    yield f"{len(rows)} programs: {sum(row.converts == 'yes' for row in rows)} converted, {len(proven)} equal."


if __name__ == "__main__":
    sys.exit(main())
