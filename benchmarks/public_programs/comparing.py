"""Runs a program, and again under `migrate run`, and compares the numbers that its steps give."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.public_programs.modern import modernize
from benchmarks.public_programs.programs import EQUAL, Outcome, Program, Recording

__all__ = ["RECORD", "compare", "difference", "environment", "place_of", "prepared", "run"]

_HERE = Path(__file__).resolve().parent
#: Runs a program with the stand-ins, and records its numbers.
RECORD = _HERE / "stand_ins" / "record.py"


def compare(program: Program, clones: Path, work: Path, seconds: int = 400) -> Outcome:
    """Run a program in folders below `work`, with what it prints in `*.txt` there.

    Raises:
        subprocess.CalledProcessError: the clone lacks the commit.
    """
    place = place_of(program, work)
    shutil.rmtree(place, ignore_errors=True)
    copy = prepared(program, clones / program.clone, place)
    original = run(program, copy, place / "original", seconds, ())
    if original.error or not original.values:
        return Outcome(program, original, Recording([], ""), 0.0)
    command = (sys.executable, "-m", "migrate", "run", *program.options, "--")
    moved = run(program, copy, place / "moved", 2 * seconds, command)
    found = difference(original, moved)
    if found <= EQUAL:
        return Outcome(program, original, moved, found)
    again = difference(original, run(program, copy, place / "again", seconds, ()))
    nudged = difference(original, run(program, copy, place / "nudged", seconds, (), nudge=True))
    return Outcome(program, original, moved, found, again, nudged)


def difference(one: Recording, other: Recording) -> float:
    """Return the largest relative difference of two recordings, as far as both go."""
    pairs = [
        (a, b)
        for run, beside in zip(one.values, other.values, strict=False)
        for a, b in zip(run, beside, strict=False)
        if a == a or b == b
    ]
    found = [abs(a - b) / (abs(a) + 1e-6) for a, b in pairs]
    return max((1e9 if one != one else one for one in found), default=0.0)


def place_of(program: Program, work: Path) -> Path:
    """Return the folder below `work` that keeps what is recorded of a program."""
    return work / re.sub(r"\W+", "_", program.name)


def prepared(program: Program, clone: Path, place: Path) -> Path:
    """Return a copy of the commit with its data, mended."""
    copy = place / "copy"
    copy.mkdir(parents=True)
    paths = program.needs if program.folder == "." and program.needs else (program.folder, *program.needs)
    _extract(clone, program.commit, paths, copy)
    modernize(copy, program.mended, program.python2)
    program.data(copy / program.folder)
    return copy


def _extract(clone: Path, commit: str, paths: Sequence[str], copy: Path) -> None:
    """Write the files of a commit below some paths; a clone may lack its largest ones."""
    git = ["git", "-C", str(clone)]
    listed = subprocess.run([*git, "ls-tree", "-rz", commit, "--", *paths], check=True, capture_output=True).stdout
    files = [entry.split("\t") for entry in listed.decode().split("\0") if entry.startswith("100")]
    asked = "".join(f"{head.split()[2]}\n" for head, _ in files).encode()
    given = subprocess.run([*git, "cat-file", "--batch"], input=asked, check=True, capture_output=True).stdout
    at = 0
    for _, name in files:
        end = given.index(b"\n", at)
        head, at = given[at:end].split(), end + 1
        if head[1] == b"missing":
            continue
        size = int(head[2])
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(given[at : at + size])
        at += size + 1


def run(program: Program, copy: Path, own: Path, seconds: int, before: Sequence[str], **more: object) -> Recording:
    """Run a program in a copy of a folder, behind the words `before`, and return what it gave."""
    # All runs are in one place, because programs write absolute paths, and hash them.
    running = own.parent / "program"
    shutil.rmtree(running, ignore_errors=True)
    shutil.copytree(copy, running, symlinks=True)
    recording = own.with_suffix(".json")
    with own.with_suffix(".txt").open("w") as output:
        try:
            subprocess.run(
                [*before, sys.executable, str(RECORD)],
                cwd=running / program.folder,
                env=environment(program, running, recording, **more),
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return Recording([], "it takes longer than it is given")
    if not recording.exists():
        lines = own.with_suffix(".txt").read_text(errors="replace").splitlines()
        return Recording([], lines[-1] if lines else "it ends at once")
    return Recording(**json.loads(recording.read_text()))


def environment(program: Program, running: Path, recording: Path, **more: object) -> dict[str, str]:
    """Return the variables by which `RECORD` knows what to run, and where it writes what it gave."""
    paths = [str(running), str(_HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
    settings = {
        "out": str(recording),
        "steps": program.steps,
        "tf2": program.tf2,
        "arrays": program.arrays,
        "command": program.command,
        **more,
    }
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PUBLIC_PROGRAM": json.dumps(settings),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONHASHSEED": "7",
    }
