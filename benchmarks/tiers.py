"""The cold step on tables whose rows lie in several tiers: what a tier below memory costs, and how often it is needed.

python -m benchmarks.tiers [--kinds dram,dram_ssdhash,dram_leveldb] [--keys 1000000] [--memory 0.1] [--batches 200]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import DIM, KINDS, Settings, draw, machine, markdown_table
from benchmarks.options import positive, positives

ROW_BYTES = (2 * DIM + 4) * 4 + 16  # value, Adagrad's slot, cells and a part of the index
WARM_UP = 0.25  # of the batches: the tiers find out what is used


@dataclasses.dataclass(frozen=True)
class Measured:
    """One kind of storage on one stream of batches; times in milliseconds, counts for a step."""

    kind: str
    keys: int
    median: float
    p99: float
    processor: float
    distinct: float
    missed: float
    written: float
    moved: float
    cold_memory_bytes: float
    medium_bytes: float
    resident_mib: float
    losses: tuple[float, ...]


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 1 when two kinds computed something else."""
    options = _arguments(given)
    if options.one:
        print(json.dumps(dataclasses.asdict(measure(options, options.one, options.keys[0]))))
        return 0
    folder = Path(options.folder or tempfile.mkdtemp(prefix="recmigrate-tiers-"))
    try:
        runs = [
            [_in_process(options, kind, keys, folder / kind) for kind in options.kinds.split(",")]
            for keys in options.keys
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(_report(options, runs))
    same = all(run.losses == runs_of_size[0].losses for runs_of_size in runs for run in runs_of_size)
    if not same:
        print("tiers: the losses differ between kinds of storage; they must be the same bits", file=sys.stderr)
    return 0 if same else 1


def measure(options: argparse.Namespace, kind: str, keys: int) -> Measured:
    """Fill a table of this kind with every key, then time fresh batches."""
    import tensorflow as tf

    import runtime
    from runtime.optimizers import adagrad
    from runtime.storage import Storage, tier_status

    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    sizes = [int(keys * options.memory * ROW_BYTES)]
    storage = None if kind == "dram" else Storage(kind, options.folder, sizes, options.policy)
    table = runtime.create_table(
        tf.int64, DIM, "cold", tf.compat.v1.random_normal_initializer(stddev=0.01, seed=1), storage=storage
    )
    optimizer = adagrad.create_hash_optimizer(0.1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])  # type: ignore[untyped-decorator]
    def step(ids: Any) -> Any:
        with tf.GradientTape() as tape:
            rows = runtime.sparse_lookup(table, ids)
            loss = tf.reduce_sum(rows * rows)
        optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
        return loss

    settings = Settings(samples=options.samples, keys=keys)
    order = np.random.Generator(np.random.PCG64(options.seed)).permutation(keys).astype(np.int64)
    for begin in range(0, keys, settings.ids_per_batch):
        step(tf.constant(order[begin : begin + settings.ids_per_batch]))
    table.drain()
    times, processor, losses = [], [], []
    warm = int(options.batches * WARM_UP)
    before = tier_status(table.tier_status())
    for number in range(options.batches):
        ids = tf.constant(draw(options.ids, 1, settings, options.seed + number + 1, scatter=True).reshape(-1))
        if number == warm:
            before = tier_status(table.tier_status())
        start, used = time.perf_counter(), time.process_time()
        losses.append(float(step(ids)))
        times.append((time.perf_counter() - start) * 1e3)
        processor.append((time.process_time() - used) * 1e3)
    after = tier_status(table.tier_status())
    steps = options.batches - warm
    changes = [_change(one, two, steps) for one, two in zip(before, after, strict=True)]
    below = after[1:]
    cold_rows = max(1, sum(tier.rows for tier in below))
    return Measured(
        kind,
        keys,
        median=statistics.median(times[warm:]),
        p99=float(np.percentile(times[warm:], 99)),
        processor=statistics.median(processor[warm:]),
        distinct=sum(change["found"] for change in changes),
        missed=sum(change["found"] for change in changes[1:]),
        written=sum(change["written_rows"] for change in changes),
        moved=sum(change["moved_rows"] for change in changes),
        cold_memory_bytes=sum(tier.memory_bytes for tier in below) / cold_rows,
        medium_bytes=sum(tier.medium_bytes for tier in below) / cold_rows,
        resident_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        losses=tuple(losses),
    )


def _change(before: Any, after: Any, steps: int) -> dict[str, float]:
    return {
        name: (getattr(after, name) - getattr(before, name)) / steps for name in ("found", "written_rows", "moved_rows")
    }


def _in_process(options: argparse.Namespace, kind: str, keys: int, folder: Path) -> Measured:
    print(f"{kind}: {keys:,} keys", file=sys.stderr)
    command = [sys.executable, "-m", "benchmarks.tiers", "--one", kind, "--keys", str(keys), "--folder", str(folder)]
    for name in ("memory", "batches", "samples", "threads", "seed", "ids", "policy"):
        command += [f"--{name}", str(getattr(options, name))]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    values = json.loads(done.stdout.splitlines()[-1])
    return Measured(**{**values, "losses": tuple(values["losses"])})


def _report(options: argparse.Namespace, runs: Sequence[Sequence[Measured]]) -> str:
    about = machine()
    head = ["storage", "keys", "step ms", "p99 ÷ median", "processor ms", "first ÷ this", "distinct keys", "missed"]
    head += ["miss rate", "rows written ÷ missed", "rows moved ÷ missed", "memory B ÷ cold row", "medium B ÷ cold row"]
    head += ["resident MiB"]
    rows: list[list[float | str | None]] = []
    for of_size in runs:
        for run in of_size:
            tiered = run.missed > 0
            rows.append(
                [
                    run.kind,
                    f"{run.keys:,}",
                    run.median,
                    run.p99 / run.median,
                    run.processor,
                    of_size[0].median / run.median,
                    run.distinct if tiered else None,
                    run.missed if tiered else None,
                    run.missed / run.distinct if tiered else None,
                    run.written / run.missed if tiered else None,
                    run.moved / run.missed if tiered else None,
                    run.cold_memory_bytes if tiered else None,
                    run.medium_bytes if tiered else None,
                    run.resident_mib,
                ]
            )
    return (
        f"{about['processor']}, {about['cores']} cores · {about['memory_gib']} GiB · {about['system']}\n\n"
        f"{options.samples} samples x 26 {options.ids} ids, dim {DIM}, Adagrad, memory for {options.memory:.0%} of the "
        f"rows, {options.policy}, {options.batches} fresh batches of which the first quarter is not counted; numbers "
        "for a step\n\n" + markdown_table(head, rows)
    )


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parsing = argparse.ArgumentParser(prog="python -m benchmarks.tiers", description="Time steps on tiered tables.")
    add = parsing.add_argument
    add(
        "--kinds",
        default="dram,dram_ssdhash,dram_leveldb",
        help="kinds of storage; the first is what others are compared with",
    )
    add("--keys", type=positives, default=[1_000_000], metavar="N,M", help="rows of the table (default 1,000,000)")
    add("--memory", type=float, default=0.1, help="part of the rows that the first tier holds (default 0.1)")
    add("--batches", type=positive, default=200, help="fresh batches (default 200)")
    add("--samples", type=positive, default=4096, help="samples of a batch (default 4096)")
    add("--threads", type=positive, default=2, help="threads of one op (default 2)")
    add("--seed", type=int, default=0, help="seed of the batches (default 0)")
    add("--ids", choices=KINDS, default="zipf", help="how ids are drawn (default zipf)")
    add("--policy", choices=("lfu", "lru"), default="lfu", help="which rows go down first (default lfu)")
    add("--folder", help="where rows go that are not in memory (default: a temporary folder)")
    add("--one", help=argparse.SUPPRESS)
    return parsing.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
