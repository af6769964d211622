"""Steps that insert: a table grows from empty to 20,000,000 rows; how far its slow steps are from its usual ones.

python -m benchmarks.growing_step [--rows 20000000] [--dim 16] [--ids uniform] [--fresh 0.25] [--json FILE]

Each batch has 4,096 x 26 ids, a quarter of them new; a step is one lookup and one update, Adagrad. A window is so many
rows of the growth; the last one is what a table of that size does. Wall time says what a user waits, processor time
(all threads, page faults included) what the step costs when other work shares the machine.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.common import BenchmarkError, Ids, machine, markdown_table
from benchmarks.engine_part import BATCH, Engine, keys_of
from benchmarks.options import positive
from benchmarks.report import write_json

ROWS = 20_000_000
WINDOWS = (0.0, 0.05, 0.25, 0.5, 1.0)
ZIPF_EXPONENT = 1.2


@dataclass(frozen=True)
class Step:
    """One step: the rows before it, and the milliseconds it took by the clock and of the processor."""

    rows: int
    wall: float
    processor: float


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growing_step", description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=positive, default=ROWS, help=f"rows at the end (default {ROWS:,})")
    parser.add_argument("--dim", type=positive, default=16, help="columns of a row (default 16)")
    parser.add_argument("--fresh", type=float, default=0.25, help="share of new ids in a batch (default 0.25)")
    parser.add_argument("--ids", choices=("uniform", "zipf"), default="uniform", help="the other ids (default uniform)")
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every step to FILE")
    parser.add_argument("--markdown", action="store_true", help="print a section for RESULTS.md")
    return parser.parse_args(given)


def batch(random: np.random.Generator, present: int, fresh: int, kind: str) -> Ids:
    """Return a batch in random order: `fresh` new numbers from `present` on, the others of those before."""
    numbers = np.arange(present, present + BATCH)
    if present and kind == "uniform":
        numbers[fresh:] = random.integers(0, present, BATCH - fresh)
    elif present:
        numbers[fresh:] = random.zipf(ZIPF_EXPONENT, BATCH - fresh) % present
    random.shuffle(numbers)
    return numbers


def grow(options: argparse.Namespace) -> list[Step]:
    """Let a table grow to `options.rows` rows; return all steps.

    Raises:
        BenchmarkError: rows of the table are not those of the float64 reference.
    """
    engine = Engine(options.rows, options.dim, options.threads)
    random = np.random.default_rng(options.seed)
    fresh = max(1, int(BATCH * options.fresh))
    steps = []
    present = 0
    while present < options.rows:
        numbers = batch(random, present, fresh, options.ids)
        engine.reference.step(numbers)
        steps.append(timed_step(engine, keys_of(numbers), present))
        present += fresh if present else BATCH
    engine.check()
    return steps


def timed_step(engine: Engine, keys: Ids, rows: int) -> Step:
    """Look up and update the keys, and time both together."""
    begun, spent = time.perf_counter(), time.process_time()
    engine.session.run(engine.rows.op, {engine.ids: keys})
    engine.session.run(engine.update, {engine.ids: keys})
    return Step(rows, (time.perf_counter() - begun) * 1e3, (time.process_time() - spent) * 1e3)


def windows(steps: Sequence[Step], rows: int) -> list[list[float | str | None]]:
    """Return a line for each window: its rows, and median, 99th percentile, maximum and ratio of both times."""
    lines: list[list[float | str | None]] = []
    for begin, end in itertools.pairwise(WINDOWS):
        # The first step makes the table, and its graph.
        within = [step for step in steps[1:] if begin * rows <= step.rows < end * rows]
        if not within:
            continue
        line: list[float | str | None] = [f"{begin * rows:,.0f} – {end * rows:,.0f}", f"{len(within)}"]
        for times in ([step.wall for step in within], [step.processor for step in within]):
            median, high = np.percentile(times, [50, 99])
            line += [float(median), float(high), max(times), float(high / median)]
        lines.append(line)
    return lines


def report(options: argparse.Namespace, steps: Sequence[Step]) -> str:
    """Return the table, and where asked for the heading of a section."""
    wall, processor = (
        [f"{what} {name}" for name in ("median ms", "p99", "max", "p99 ÷ median")] for what in ("wall", "processor")
    )
    body = markdown_table(("rows", "steps", *wall, *processor), windows(steps, options.rows))
    if not options.markdown:
        return body
    host = machine()
    where = f"{host['processor']}, {host['cores']} cores, {options.threads} threads"
    what = f"{options.fresh:.0%} new ids, the others {options.ids}; dim {options.dim}, Adagrad"
    return f"## Steps that insert\n\n{where} · {BATCH:,} ids, {what}\n\n{body}"


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 2 when the rows are wrong."""
    options = arguments(given)
    try:
        steps = grow(options)
    except BenchmarkError as error:
        print(f"growing_step: {error}", file=sys.stderr)
        return 2
    if options.json:
        write_json(options.json, {"machine": machine(), "steps": [vars(step) for step in steps]})
    print(report(options, steps), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
