"""Two ranks of one thread each, against one rank of one and of two threads: time of a step, bytes and messages sent.

python -m benchmarks.distributed.ranks [--ranks 2] [--samples 4096] [--tables 26] [--dim 16] [--turns 3] [--ahead]
    [--engine local] [--markdown]

All train the same model on the same batches (a rank takes its share of each), and their losses must agree. Each turn
runs every setting once, in processes of its own; compare ratios of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import BenchmarkError, Summary, machine, markdown_table
from benchmarks.distributed import ranks_model
from benchmarks.options import positive

PART = Path(__file__).with_name("ranks_part.py")
LABEL = "numbers: "
TOLERANCE = 1e-4
PASSED_ON = ("samples", "tables", "keys", "dim", "batches", "repeats", "seed")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed.ranks", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--ranks", type=positive, default=2, help="how many, of one thread each (default 2)")
    parser.add_argument("--samples", type=positive, default=4096, help="of a batch of all ranks (default 4096)")
    parser.add_argument("--tables", type=positive, default=26)
    parser.add_argument("--keys", type=positive, default=100_000, help="of each table (default 100000)")
    parser.add_argument("--dim", type=positive, default=16)
    parser.add_argument("--batches", type=positive, default=12, help="distinct batches (default 12)")
    parser.add_argument("--repeats", type=positive, default=4, help="passes over them in a turn (default 4)")
    parser.add_argument("--turns", type=positive, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("local", "collectives"), default="local", help="what connects the ranks")
    parser.add_argument("--ahead", action="store_true", help="ids of the next batch are exchanged in each step")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured to FILE")
    parser.add_argument("--markdown", action="store_true", help="print a section for RESULTS.md")
    return parser.parse_args(given)


def run(ranks: int, threads: int, options: argparse.Namespace) -> dict[str, Any]:
    """Run one setting in processes of its own, and return what rank 0 has measured.

    Raises:
        BenchmarkError: it failed.
    """
    program = [str(PART), "--threads", str(threads)]
    for name in PASSED_ON:
        program += [f"--{name}", str(getattr(options, name))]
    if options.ahead:
        program.append("--ahead")
    return numbers_of(program, ranks, options.engine)


def numbers_of(program: Sequence[str], ranks: int, engine: str = "local") -> dict[str, Any]:
    """Run a script and its arguments as so many ranks, and return the numbers that rank 0 prints.

    Raises:
        BenchmarkError: it ended without.
    """
    start = ["-m", "runtime.launch", "-n", str(ranks), "--engine", engine] if ranks > 1 else []
    environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    environment["PYTHONPATH"] = os.pathsep.join([str(PART.parents[2]), environment.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, *start, *program], capture_output=True, text=True, env=environment)
    for line in done.stdout.splitlines():
        if LABEL in line:
            found: dict[str, Any] = json.loads(line.split(LABEL, 1)[1])
            return found
    raise BenchmarkError(f"{Path(program[0]).name} of {ranks} ranks ended without numbers: {done.stderr[-2000:]}")


def measure(options: argparse.Namespace) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """Return what each setting (ranks, threads) has measured in each turn.

    Raises:
        BenchmarkError: one failed, or computed something else.
    """
    settings = [(1, 1), (1, options.ranks), (options.ranks, 1)]
    found: dict[tuple[int, int], list[dict[str, Any]]] = {setting: [] for setting in settings}
    for turn in range(options.turns):
        print(f"turn {turn + 1} of {options.turns}", file=sys.stderr)
        for setting in settings if turn % 2 else reversed(settings):
            found[setting].append(run(setting[0], setting[1], options))
    first = np.array(found[1, 1][0]["losses"])
    for (ranks, threads), runs in found.items():
        for one in runs:
            apart = float(np.max(np.abs(np.array(one["losses"]) - first) / np.abs(first)))
            if not apart < TOLERANCE:
                raise BenchmarkError(f"the losses of {ranks} ranks of {threads} threads are {apart:.1g} apart")
    return found


def step_of(runs: Sequence[dict[str, Any]]) -> Summary:
    """Summarise the times of a step over all turns."""
    return Summary.of([time for one in runs for time in one["times"]])


def times_table(found: dict[tuple[int, int], list[dict[str, Any]]], options: argparse.Namespace) -> str:
    """Return the step times, and each as a multiple of one rank of one thread."""
    slow = step_of(found[1, 1]).median
    rows: list[list[float | str | None]] = []
    for (ranks, threads), runs in found.items():
        step = step_of(runs)
        speed = slow / step.median
        rows.append(
            [
                f"{ranks} x {threads}",
                step.median,
                f"{step.smallest:.1f} – {step.largest:.1f}",
                options.samples / step.median * 1e3,
                speed,
                speed / (ranks * threads),
                float(np.median([one["cpu_ms"] for one in runs])),
            ]
        )
    head = ("ranks x threads", "step ms", "min – max", "samples/s", "speed: 1 x 1 is 1", "per thread", "processor ms")
    return markdown_table(head, rows)


def formula_bytes(message: str, samples: int, tables: int, dim: int, ranks: int) -> float | None:
    """Return what a rank sends if each id goes by itself: of n ranks, (n-1)/n of its ids, 8 or 4 dim bytes each."""
    ids = samples / ranks * tables * (ranks - 1) / ranks
    if message == "all-to-all int64":
        return ids * 8
    return ids * 4 * dim if message == "all-to-all float32" else None


def messages_table(one: dict[str, Any], options: argparse.Namespace) -> str:
    """Return what a rank sends to the others in a step, message by message, beside the formula."""
    rows: list[list[float | str | None]] = []
    for message in one["messages"]:
        plain = formula_bytes(message["message"], options.samples, options.tables, options.dim, options.ranks)
        sent = message["bytes"]
        rows.append(
            [message["message"], f"{sent:,.0f}", None if plain is None else f"{plain:,.0f}", plain and plain / sent]
        )
    return markdown_table(("message", "bytes sent by a rank", "every id sent", "de-duplication gains"), rows)


def _row_bytes(messages: Sequence[dict[str, Any]]) -> float:
    """Return the bytes of rows that a rank sends in a step; as many are of gradients."""
    return float(sum(one["bytes"] for one in messages if one["message"] == "all-to-all float32")) / 2


def fitted(found: dict[tuple[int, int], list[dict[str, Any]]], options: argparse.Namespace) -> ranks_model.Cost:
    """Return the cost model that fits this run."""
    several = found[options.ranks, 1]
    latency, per_byte = ranks_model.fit_exchange([tuple(pair) for one in several for pair in one["exchanges"]])
    alone = step_of(found[1, 1]).median / 1e3 / options.samples
    messages = several[0]["messages"]
    sent = _row_bytes(messages)
    ids = options.samples / options.ranks * options.tables
    return ranks_model.Cost(
        latency=latency,
        byte_seconds=per_byte,
        sample_seconds=alone,
        distinct_share=sent / (4 * options.dim) * options.ranks / (options.ranks - 1) / ids,
        dense_floats=several[0]["dense"],
    )


def report(options: argparse.Namespace, found: dict[tuple[int, int], list[dict[str, Any]]]) -> str:
    """Return the section."""
    host, cost = machine(), fitted(found, options)
    shape = ranks_model.Shape(options.samples // options.ranks, options.tables, options.dim)
    modelled = cost.step(options.ranks, shape, 1 / cost.byte_seconds).total * 1e3
    step = step_of(found[options.ranks, 1]).median
    lines = [
        f"{host['processor']}, {host['cores']} cores · batches of {options.samples} samples x {options.tables} tables "
        f"of {options.keys:,} keys, zipf, dim {options.dim}, Adagrad; a hidden layer; {options.turns} turns",
        "",
        times_table(found, options),
        messages_table(found[options.ranks, 1][0], options),
        f"An exchange alone: {cost.latency * 1e6:.0f} µs and {1e-6 / cost.byte_seconds:.0f} MB/s; a sample in one "
        f"thread {cost.sample_seconds * 1e6:.1f} µs; distinct ids are {cost.distinct_share:.0%} of all. The cost model "
        f"(docs/scaling.md) says {modelled:.1f} ms for a step of {options.ranks} ranks, measured are {step:.1f} ms.",
        "",
        f"`--cost {cost.as_text()}`",
    ]
    heading = [f"## {options.ranks} ranks", ""] if options.markdown else []
    return "\n".join([*heading, *lines]) + "\n"


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 2 when it could not or the settings computed different losses."""
    options = arguments(given)
    try:
        found = measure(options)
    except BenchmarkError as error:
        print(f"ranks: {error}", file=sys.stderr)
        return 2
    if options.json:
        options.json.write_text(json.dumps({f"{r}x{t}": runs for (r, t), runs in found.items()}), encoding="utf-8")
    print(report(options, found), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
