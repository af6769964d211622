"""Other people's programs beside `migrate run`: `python -m benchmarks.public_programs FOLDER [NAME…]`.

FOLDER holds clones of their repositories; programs without one are left out. They run one after the other, in copies,
on made-up data. `--page docs/compat/run.md` writes the page; `--work` keeps what was recorded, and `--known` runs
nothing and takes what earlier runs recorded there. Exit code 1 says that a program stops or computes something else
under `migrate run`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf

from benchmarks.public_programs import page
from benchmarks.public_programs.comparing import compare, place_of
from benchmarks.public_programs.evidence import prove
from benchmarks.public_programs.programs import Evidence, Outcome, Program, Recording
from benchmarks.public_programs.recipes import PROGRAMS


def main(given: Sequence[str] | None = None) -> int:
    """Run the programs; return 0 if none stops or differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public_programs", description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="clones of the repositories")
    parser.add_argument("names", nargs="*", help="names of programs or repositories (default: all programs)")
    parser.add_argument("--work", type=Path, help="keep what the programs print and give in this folder")
    parser.add_argument("--known", action="store_true", help="run nothing: take what --work has")
    parser.add_argument("--evidence", action="store_true", help="also trace and convert them, and prove what comes out")
    parser.add_argument("--page", type=Path, help="the file of the page")
    options = parser.parse_intermixed_args(given)
    outcomes: list[Outcome] = []
    evidence: dict[str, Evidence] = {}
    with tempfile.TemporaryDirectory() as scratch:
        work = (options.work or Path(scratch)).resolve()
        for program in PROGRAMS:
            named = not options.names or any(one in (program.name, program.repository) for one in options.names)
            kept = place_of(program, work) / "outcome.json"
            if named and (kept if options.known else options.folder / program.clone).exists():
                outcomes.append(_read(program, kept) if options.known else _run(program, options.folder, work, kept))
                print(_line(outcomes[-1]), flush=True)
                proof = place_of(program, work) / "evidence.json"
                if options.evidence and not options.known:
                    _prove(outcomes[-1], options.folder, work, proof)
                if options.evidence and proof.exists():
                    evidence[program.name] = Evidence(**json.loads(proof.read_text()))
    written = page.text(outcomes, evidence, f"TensorFlow {tf.__version__}, Python {platform.python_version()}.")
    if options.page:
        options.page.write_text(written)
    else:
        print(written)
    return 1 if any(one.verdict in ("stops", "differs") for one in outcomes) else 0


def _read(program: Program, kept: Path) -> Outcome:
    """Return what came of a program before."""
    values = json.loads(kept.read_text())
    original, moved = (Recording(**values.pop(name)) for name in ("original", "moved"))
    return Outcome(program, original, moved, **values)


def _run(program: Program, folder: Path, work: Path, kept: Path) -> Outcome:
    """Return what comes of a program, and keep it; one that cannot be prepared did not run."""
    try:
        outcome = compare(program, folder.resolve(), work)
    except (OSError, subprocess.CalledProcessError) as error:
        outcome = Outcome(program, Recording([], f"cannot be prepared: {error}"), Recording([], ""), 0.0)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({name: one for name, one in dataclasses.asdict(outcome).items() if name != "program"}))
    return outcome


def _prove(outcome: Outcome, folder: Path, work: Path, kept: Path) -> None:
    """Keep what comes of a program that is converted with a record."""
    evidence = prove(outcome.program, folder.resolve(), work, outcome.original)
    kept.write_text(json.dumps(dataclasses.asdict(evidence)))
    print("  ", evidence, flush=True)


def _line(outcome: Outcome) -> str:
    moved, steps = outcome.moved, len(outcome.original.values)
    more = "".join(
        f", {name} {number:.0e}"
        for name, number in (("again", outcome.again), ("nudged", outcome.nudged))
        if number is not None
    )
    return (
        f"{outcome.verdict:8} {outcome.program.name}: {len(moved.tables)} tables, {len(moved.stay)} stay, "
        f"{steps} runs, difference {outcome.difference:.0e}{more} {outcome.original.error or moved.error}"
    )


if __name__ == "__main__":
    sys.exit(main())
