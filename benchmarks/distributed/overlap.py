"""What overlaps in a step of ranks: tables and a dense tower, each trained alone and both in one model.

python -m benchmarks.distributed.overlap [--ranks 2] [--delays 0,5,10,20] [--samples 2048] [--width 320]
    [--turns 3] [--markdown]

The tower needs no row, so it can run while ranks wait for each other's; `ids ahead` is both in one model that exchanges
the ids of the next batch in each step. On one machine ranks hardly wait: --delays lets each all-to-all arrive so many
milliseconds later, a stand-in for a slower network. Each number is the fastest step of all turns: what a busy neighbour
adds differs between them. Compare ratios of one run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import BenchmarkError, machine, markdown_table
from benchmarks.distributed.ranks import numbers_of
from benchmarks.options import positive

PART = Path(__file__).with_name("overlap_part.py")
WHAT = ("tables", "tower", "both")
PASSED_ON = ("samples", "tables", "keys", "dim", "width", "layers", "batches", "repeats")
TOLERANCE = 1e-4


def milliseconds(text: str) -> list[float]:
    """Parse numbers of 0 or more, separated by commas."""
    found = [float(part) for part in text.split(",")]
    if min(found) < 0:
        raise argparse.ArgumentTypeError(f"{text} has one below zero")
    return found


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed.overlap", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--ranks", type=positive, default=2, help="how many, of one thread each (default 2)")
    parser.add_argument("--delays", type=milliseconds, default=[0.0, 5.0, 10.0, 20.0], help="default 0,5,10,20 ms")
    parser.add_argument("--samples", type=positive, default=2048, help="of a rank's batch (default 2048)")
    parser.add_argument("--tables", type=positive, default=26)
    parser.add_argument("--keys", type=positive, default=100_000, help="of each table (default 100000)")
    parser.add_argument("--dim", type=positive, default=16)
    parser.add_argument("--width", type=positive, default=320, help="of a layer of the tower (default 320)")
    parser.add_argument("--layers", type=positive, default=3)
    parser.add_argument("--batches", type=positive, default=6, help="distinct batches (default 6)")
    parser.add_argument("--repeats", type=positive, default=4, help="passes over them in a turn (default 4)")
    parser.add_argument("--turns", type=positive, default=3)
    parser.add_argument("--markdown", action="store_true", help="print a section for RESULTS.md")
    return parser.parse_args(given)


def measure(options: argparse.Namespace) -> dict[float, list[dict[str, Any]]]:
    """Return what each delay has measured in each turn.

    Raises:
        BenchmarkError: one failed, or computed something else.
    """
    found: dict[float, list[dict[str, Any]]] = {delay: [] for delay in options.delays}
    for turn in range(options.turns):
        print(f"turn {turn + 1} of {options.turns}", file=sys.stderr)
        for delay in options.delays if turn % 2 else reversed(options.delays):
            program = [str(PART), "--delay", str(delay)]
            for name in PASSED_ON:
                program += [f"--{name}", str(getattr(options, name))]
            found[delay].append(numbers_of(program, options.ranks, "collectives"))
    losses = [one["loss"] for runs in found.values() for one in runs]
    if max(losses) - min(losses) > TOLERANCE * abs(max(losses)):
        raise BenchmarkError(f"the losses lie between {min(losses):.6g} and {max(losses):.6g}; they must be the same")
    return found


def row(delay: float, runs: Sequence[dict[str, Any]]) -> list[float | str | None]:
    """Return a row of the table: the fastest steps, and which share of the shorter part the other one hides."""
    tables, tower, both = (min(time for one in runs for time in one[what]) for what in WHAT)
    hidden = tables + tower - both
    ahead = min(time for one in runs for time in one["ahead"])
    return [f"{delay:g}", tables, tower, tables + tower, both, hidden, f"{hidden / min(tables, tower):.0%}", ahead]


def report(options: argparse.Namespace, found: dict[float, list[dict[str, Any]]]) -> str:
    """Return the section."""
    host = machine()
    head = (
        "delay ms",
        "tables ms",
        "tower ms",
        "one after the other",
        "both ms",
        "hidden ms",
        "of the shorter",
        "ids ahead ms",
    )
    lines = [
        f"{host['processor']}, {host['cores']} cores · {options.ranks} ranks of one thread, {options.samples} samples "
        f"each x {options.tables} tables of {options.keys:,} keys, zipf, dim {options.dim}, Adagrad; a tower of "
        f"{options.layers} layers of {options.width}; {options.turns} turns",
        "",
        markdown_table(head, [row(delay, runs) for delay, runs in found.items()]),
    ]
    return "\n".join([*(["## What overlaps", ""] if options.markdown else []), *lines])


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 2 when it could not or the delays changed what is computed."""
    options = arguments(given)
    try:
        found = measure(options)
    except BenchmarkError as error:
        print(f"overlap: {error}", file=sys.stderr)
        return 2
    print(report(options, found), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
