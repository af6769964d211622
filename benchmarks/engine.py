"""The table engine by itself: cost by keys, threads and dim, memory, pauses, pooled lookups, saving, exact Adam.

python -m benchmarks.engine [--parts keys,threads] [--keys 1000000,10000000] [--markdown] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.common import BenchmarkError, machine, markdown_table
from benchmarks.report import write_json

Row = list[float | str | None]
THREADS = 2
THREAD_ROUNDS = 3


def run_part(part: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Run one measurement in a process of its own; the native pool has `threads` of the settings, else THREADS.

    Raises:
        BenchmarkError: it failed; with the last line that it wrote.
    """
    print(f"{part} {dict(settings)}", file=sys.stderr)
    command = [sys.executable, "-m", "benchmarks.engine_part", part, json.dumps(dict(settings))]
    threads = str(settings.get("threads", THREADS))
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, "RECMIGRATE_NUM_THREADS": threads}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet)
    if done.returncode:
        raise BenchmarkError(f"{part} failed: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def measured(options: argparse.Namespace, part: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Run one measurement and keep its numbers for `--json`."""
    result = run_part(part, settings)
    options.measured.append({"part": part, "settings": dict(settings), "result": result})
    return result


def keys_table(options: argparse.Namespace) -> str:
    """Cost per id, memory and pauses by the number of keys; dim 16, Adagrad, uniform ids."""
    rows: list[Row] = []
    first = 0.0
    for keys in options.keys:
        got = measured(options, "cold", {"keys": keys})
        cost = got["lookup_ns"] + got["update_ns"]
        first = first or cost
        rows.append(
            [
                f"{got['rows']:,}",
                got["lookup_ns"],
                got["update_ns"],
                cost / first,
                got["bytes_beyond_rows"],
                got["reported_beyond_rows"],
                got["pause"],
                got["huge_gib"],
            ]
        )
    head = (
        "keys",
        "lookup ns/id",
        "update ns/id",
        "cost ÷ first",
        "resident bytes/key beyond value and slots",
        "the same by status()",
        "growth: worst ÷ median step",
        "huge pages GiB",
    )
    return markdown_table(head, rows)


def threads_table(options: argparse.Namespace) -> str:
    """Lookup and update op alone, by threads of the native pool: same ids, in turns, the order reversed each time."""
    got: dict[int, list[dict[str, Any]]] = {1: [], 2: []}
    for turn in range(THREAD_ROUNDS):
        for threads in (1, 2) if turn % 2 == 0 else (2, 1):
            got[threads].append(measured(options, "cold", {"keys": options.keys[0], "threads": threads}))
    rows: list[Row] = []
    for what in ("lookup", "update"):
        one, two = (statistics.median(result[f"{what}_ns"] for result in got[threads]) for threads in (1, 2))
        rows.append([what, one, two, one / two])
    return markdown_table(("op", "1 thread ns/id", "2 threads ns/id", "1 ÷ 2"), rows)


def dims_table(options: argparse.Namespace) -> str:
    """Cost per id by dim."""
    rows: list[Row] = []
    for dim in (8, 16, 64, 128):
        got = measured(options, "cold", {"keys": options.keys[0], "dim": dim})
        rows.append(
            [str(dim), got["lookup_ns"], got["update_ns"], got["bytes_beyond_rows"], got["reported_beyond_rows"]]
        )
    head = (
        "dim",
        "lookup ns/id",
        "update ns/id",
        "resident bytes/key beyond value and slots",
        "the same by status()",
    )
    return markdown_table(head, rows)


def save_table(options: argparse.Namespace) -> str:
    """Saver.save and restore beside a plain file of the same size, in turn, fastest of each; without and with slots."""
    rows: list[Row] = []
    for optimizer, slots in (("sgd", "value"), ("adagrad", "value and slot")):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            settings = {"keys": options.keys[-1], "folder": folder, "optimizer": optimizer}
            got = measured(options, "save", settings)
        size = f"{slots}, {got['gib']:.2f} GiB"
        for ours, plain, name in (
            ("save", "write", "save; plain: write and fsync"),
            ("restore", "read", "restore; plain: read"),
            ("restore", "write", "restore; plain: write and fsync"),
        ):
            rows.append([size, name, got[ours], got[plain], got[plain] / got[ours]])
    return markdown_table(("rows", "", "ms", "plain file ms", "speed ÷ plain"), rows)


def pooled_table(options: argparse.Namespace) -> str:
    """Pooled lookups beside tf.nn.embedding_lookup_sparse; 8,192 bags of 20 ids of 1,000,000."""
    rows: list[Row] = []
    for kind in ("uniform", "zipf"):
        for combiner, weighted in (("sum", False), ("mean", True)):
            got = measured(options, "pooled", {"kind": kind, "combiner": combiner, "weighted": weighted})
            name = f"{kind}, {combiner}{', weights' if weighted else ''}"
            for what in ("forward", "step"):
                ours, stock = got[f"ours {what}"], got[f"stock {what}"]
                rows.append([f"{name}: {what}", ours, stock, stock / ours])
    return markdown_table(("", "ours ms", "stock ms", "stock ÷ ours"), rows)


def exact_table(options: argparse.Namespace) -> str:
    """Stock's v1 Adam, which moves every row, and the table's, which gives the same rows; every row written before."""
    rows: list[Row] = []
    for keys in (options.exact_keys, options.keys[-1]):
        got = measured(options, "exact", {"keys": keys})
        if "skipped" in got:
            return f"{got['skipped']}.\n"
        for kind in ("zipf", "uniform"):
            ours, stock = got[f"ours {kind}"], got[f"stock {kind}"]
            rows.append([f"{keys:,}", kind, ours, stock, stock / ours])
    return markdown_table(("keys of the variable", "ids", "ours step ms", "stock step ms", "stock ÷ ours"), rows)


PARTS: Mapping[str, tuple[str, Callable[[argparse.Namespace], str]]] = {
    "keys": ("By keys", keys_table),
    "threads": ("By threads", threads_table),
    "dims": ("By dim", dims_table),
    "save": ("Save and restore", save_table),
    "pooled": ("Pooled lookups", pooled_table),
    "exact": ("Dense-exact Adam", exact_table),
}


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parsing = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__.split("\n", 1)[0])
    add = parsing.add_argument
    add("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}; default: all")
    add("--keys", default="1000000,10000000", help="numbers of keys, ascending (default 1000000,10000000)")
    add("--folder", help="where to save to (default: the temporary directory)")
    add("--markdown", action="store_true", help="print a section for RESULTS.md")
    add("--exact-keys", type=int, default=2_000_000, help="rows of the first Adam comparison (default 2000000)")
    add("--json", type=Path, metavar="FILE", help="write all numbers to FILE")
    options = parsing.parse_args(given)
    options.parts = options.parts.split(",")
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parsing.error(f"unknown part `{unknown[0]}`; known are {', '.join(PARTS)}")
    options.keys = [int(keys) for keys in options.keys.split(",")]
    options.measured = []
    return options


def main(given: Sequence[str] | None = None) -> int:
    """Run the parts; 0 when all ran, 2 when one could not."""
    options = arguments(given)
    if options.markdown:
        host = machine()
        print(f"## The engine by itself\n\n{host['processor']}, {host['cores']} cores, {host['system']}\n")
    for part in options.parts:
        title, measure = PARTS[part]
        try:
            print(f"### {title}\n\n{measure(options)}", flush=True)
        except BenchmarkError as error:
            print(f"engine: {error}", file=sys.stderr)
            return 2
    if options.json:
        when = datetime.now(timezone.utc).isoformat(timespec="seconds")
        write_json(
            options.json, {"benchmark": "engine", "when": when, "machine": machine(), "measured": options.measured}
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
