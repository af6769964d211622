"""Tables on parameter servers against stock's partitioned variables there: steps, bytes and messages, in one run.

python -m benchmarks.distributed.servers [--servers 2] [--workers 2] [--rules adagrad,adam] [--turns 3] [--markdown]

All systems train the same model on the same batches, asynchronously, with processes of one thread each. Each turn runs
every system once; compare ratios of one run. `tables` are looked up by `grouped_lookup`, `tables-single` one by one;
`stock-distinct` sends each id of a batch once, as feature columns do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import BenchmarkError, machine, markdown_table
from benchmarks.options import positive

PART = Path(__file__).with_name("servers_part.py")
LABEL = "numbers: "
SYSTEMS = ("tables", "tables-single", "stock", "stock-distinct")
RULES = ("adagrad", "adam")
PASSED_ON = ("samples", "tables", "keys", "dim", "batches", "repeats", "seed")
#: How far losses of systems may be apart: rows begin by other random numbers, and steps of workers interleave.
TOLERANCE = 0.5


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed.servers", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--servers", type=positive, default=2)
    parser.add_argument("--workers", type=positive, default=2)
    parser.add_argument("--rules", default=",".join(RULES), help="update rules, by commas (default both)")
    parser.add_argument("--samples", type=positive, default=2048, help="of a batch of a worker (default 2048)")
    parser.add_argument("--tables", type=positive, default=26)
    parser.add_argument("--keys", type=positive, default=100_000, help="of each table (default 100000)")
    parser.add_argument("--dim", type=positive, default=16)
    parser.add_argument("--batches", type=positive, default=6, help="distinct batches (default 6)")
    parser.add_argument("--repeats", type=positive, default=5, help="timed passes over them in a turn (default 5)")
    parser.add_argument("--turns", type=positive, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--markdown", action="store_true", help="print a section for RESULTS.md")
    options = parser.parse_args(given)
    options.rules = options.rules.split(",")
    if unknown := [rule for rule in options.rules if rule not in RULES]:
        parser.error(f"--rules {unknown[0]} is no rule here: give one of {', '.join(RULES)}")
    return options


def run(system: str, rule: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run a system, and return what its workers have measured.

    Raises:
        BenchmarkError: it failed.
    """
    launcher = ["-m", "runtime.launch", "--ps", str(options.servers), "--workers", str(options.workers), "--grace", "1"]
    passed = [part for name in PASSED_ON for part in (f"--{name}", str(getattr(options, name)))]
    environment = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    environment["PYTHONPATH"] = os.pathsep.join([str(PART.parents[2]), environment.get("PYTHONPATH", "")])
    environment["RECMIGRATE_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        program = [str(PART), "--folder", folder, "--system", system, "--rule", rule, *passed]
        done = subprocess.run([sys.executable, *launcher, *program], capture_output=True, text=True, env=environment)
    numbers = [json.loads(line.split(LABEL, 1)[1]) for line in done.stdout.splitlines() if LABEL in line]
    if done.returncode or len(numbers) != options.workers:
        raise BenchmarkError(f"`{system}` with {rule} ended without numbers: {done.stderr[-2000:]}")
    return numbers


def measure(options: argparse.Namespace) -> dict[str, dict[str, list[list[dict[str, Any]]]]]:
    """Return what the workers of each system have measured in each turn, by rule.

    Raises:
        BenchmarkError: one failed, or learned something else.
    """
    measured: dict[str, dict[str, list[list[dict[str, Any]]]]] = {}
    for rule in options.rules:
        runs: dict[str, list[list[dict[str, Any]]]] = {system: [] for system in SYSTEMS}
        for turn in range(options.turns):
            print(f"{rule}: turn {turn + 1} of {options.turns}", file=sys.stderr)
            for system in SYSTEMS if turn % 2 else reversed(SYSTEMS):
                runs[system].append(run(system, rule, options))
        losses = {system: statistics.median(one["loss"] for turn in runs[system] for one in turn) for system in SYSTEMS}
        if not max(losses.values()) - min(losses.values()) < TOLERANCE * max(losses.values()):
            raise BenchmarkError(f"the losses of {rule} are too far apart: {losses}")
        measured[rule] = runs
    return measured


def table_of(runs: dict[str, list[list[dict[str, Any]]]]) -> str:
    """Return the table of a rule: steps of all workers per second; bytes, messages and processor time of one step."""
    speeds = {
        system: [sum(one["steps_per_second"] for one in turn) for turn in turns] for system, turns in runs.items()
    }
    medians = {system: statistics.median(speed) for system, speed in speeds.items()}
    rows: list[list[float | str | None]] = []
    for system, turns in runs.items():
        rows.append(
            [
                system,
                medians[system],
                f"{min(speeds[system]):.1f} – {max(speeds[system]):.1f}",
                medians[system] / medians["stock"],
                medians[system] / medians["stock-distinct"],
                statistics.median(one["bytes_per_step"] for turn in turns for one in turn) / 1e3,
                turns[0][0]["messages_per_step"],
                *(
                    statistics.median(one[f"{part}_ms"] for turn in turns for one in turn)
                    for part in ("worker", "server")
                ),
            ]
        )
    head = ["system", "steps/s", "min – max", "÷ stock", "÷ stock-distinct", "kB a step", "tensors sent a step"]
    head += ["worker ms", "servers ms"]
    return markdown_table(head, rows)


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 2 when it could not or the systems learned different losses."""
    options = arguments(given)
    try:
        measured = measure(options)
    except BenchmarkError as error:
        print(f"servers: {error}", file=sys.stderr)
        return 2
    host = machine()
    if options.markdown:
        print("## Tables on parameter servers\n")
    print(
        f"{host['processor']}, {host['cores']} cores · {options.servers} servers, {options.workers} workers, "
        f"asynchronous · batches of {options.samples} samples x {options.tables} tables of {options.keys:,} keys, "
        f"zipf, dim {options.dim}; a hidden layer; {options.turns} turns"
    )
    for rule, runs in measured.items():
        print(f"\n{rule}:\n\n{table_of(runs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
