"""The cold step on tables whose rows lie in several tiers: what a tier below memory costs, and how often it is needed.

python -m benchmarks.storage.tiers [--kinds dram,dram_ssdhash,dram_leveldb] [--keys 1000000] [--memory 0.1]
    [--batches 200]

Between the steps the system forgets the files of the tiers (`--cache kept` leaves them in its memory), so that a row
that is not in the first tier comes from the disk, as it does where memory is short. The disk's own rate is measured
beside each run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
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
from benchmarks.storage.disk import bytes_read, let_go, reads_a_second

WARM_UP = 0.25  # of the batches: the tiers find out what is used


@dataclasses.dataclass(frozen=True)
class Measured:
    """One kind of storage on one stream of batches; times in milliseconds, counts for a step."""

    kind: str
    keys: int
    dim: int
    memory: float
    policy: str
    median: float
    p99: float
    processor: float
    distinct: float
    missed: float
    bytes_read: float
    disk: float
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
        print(json.dumps(dataclasses.asdict(measure(options, _settings(options)[0][0]))))
        return 0
    folder = Path(options.folder or tempfile.mkdtemp(prefix="recmigrate-tiers-"))
    try:
        runs = [
            [_in_process(options, setting, folder / setting.kind) for setting in of_size]
            for of_size in _settings(options)
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(_report(options, runs))
    same = all(run.losses == runs_of_size[0].losses for runs_of_size in runs for run in runs_of_size)
    if not same:
        print("tiers: the losses differ between kinds of storage; they must be the same bits", file=sys.stderr)
    return 0 if same else 1


@dataclasses.dataclass(frozen=True)
class _Setting:
    """What one run is of."""

    kind: str
    keys: int
    dim: int
    memory: float
    policy: str

    @property
    def row_bytes(self) -> int:
        """Value, Adagrad's slot, cells, and a part of the index or what a record adds on a medium."""
        return (2 * self.dim + 4) * 4 + 16


def _settings(options: argparse.Namespace) -> list[list[_Setting]]:
    """For each size of table: the first kind once, the others with each size of memory and policy."""
    first, *others = options.kinds.split(",")
    return [
        [_Setting(first, keys, dim, options.memory[0], options.policy[0])]
        + [
            _Setting(kind, keys, dim, memory, policy)
            for memory in options.memory
            for policy in options.policy
            for kind in others
        ]
        for keys in options.keys
        for dim in options.dim
    ]


def measure(options: argparse.Namespace, setting: _Setting) -> Measured:
    """Fill a table of this kind with every key, then time fresh batches."""
    import tensorflow as tf

    import runtime
    from runtime.optimizers import adagrad
    from runtime.storage import Storage, tier_status

    kind, keys, folder = setting.kind, setting.keys, Path(options.folder)
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    sizes = [int(keys * setting.memory * setting.row_bytes)]
    storage = None if kind == "dram" else Storage(kind, folder, sizes, setting.policy)
    table = runtime.create_table(
        tf.int64, setting.dim, "cold", tf.compat.v1.random_normal_initializer(stddev=0.01, seed=1), storage=storage
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
    times, processor, read, losses = [], [], [], []
    warm = int(options.batches * WARM_UP)
    before = tier_status(table.tier_status())
    for number in range(options.batches):
        ids = tf.constant(draw(options.ids, 1, settings, options.seed + number + 1, scatter=True).reshape(-1))
        if number == warm:
            before = tier_status(table.tier_status())
        if storage is not None and options.cache == "forgotten":
            let_go(folder)
        start, used, before_read = time.perf_counter(), time.process_time(), bytes_read()
        losses.append(float(step(ids)))
        times.append((time.perf_counter() - start) * 1e3)
        processor.append((time.process_time() - used) * 1e3)
        read.append(bytes_read() - before_read)
    after = tier_status(table.tier_status())
    steps = options.batches - warm
    changes = [_change(one, two, steps) for one, two in zip(before, after, strict=True)]
    below = after[1:]
    cold_rows = max(1, sum(tier.rows for tier in below))
    missed = sum(change["found"] for change in changes[1:])
    rate = reads_a_second(folder, setting.row_bytes, options.threads) if storage is not None else math.inf
    return Measured(
        kind=kind,
        keys=keys,
        dim=setting.dim,
        memory=setting.memory,
        policy=setting.policy,
        median=statistics.median(times[warm:]),
        p99=float(np.percentile(times[warm:], 99)),
        processor=statistics.median(processor[warm:]),
        distinct=sum(change["found"] for change in changes),
        missed=missed,
        bytes_read=statistics.mean(read[warm:]),
        disk=missed / rate * 1e3,
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


def _in_process(options: argparse.Namespace, setting: _Setting, folder: Path) -> Measured:
    print(", ".join(f"{name} {value}" for name, value in dataclasses.asdict(setting).items()), file=sys.stderr)
    command = [
        sys.executable,
        "-m",
        "benchmarks.storage.tiers",
        "--one",
        "--folder",
        str(folder),
        "--kinds",
        setting.kind,
    ]
    for name in ("keys", "dim", "memory", "policy"):
        command += [f"--{name}", str(getattr(setting, name))]
    for name in ("batches", "samples", "threads", "seed", "ids", "cache"):
        command += [f"--{name}", str(getattr(options, name))]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    values = json.loads(done.stdout.splitlines()[-1])
    return Measured(**{**values, "losses": tuple(values["losses"])})


def _report(options: argparse.Namespace, runs: Sequence[Sequence[Measured]]) -> str:
    about = machine()
    head = ["storage", "keys", "dim", "in memory", "policy", "step ms", "p99 ÷ median", "processor ms", "first ÷ this"]
    head += ["distinct keys", "missed", "miss rate", "disk ms", "KiB read ÷ missed", "rows written ÷ missed"]
    head += ["rows moved ÷ missed", "memory B ÷ cold row", "medium B ÷ cold row", "resident MiB"]
    rows: list[list[float | str | None]] = []
    for of_size in runs:
        for run in of_size:
            tiered = run.missed > 0
            rows.append(
                [
                    run.kind,
                    f"{run.keys:,}",
                    str(run.dim),
                    f"{run.memory:.0%}" if tiered else None,
                    run.policy if tiered else None,
                    run.median,
                    run.p99 / run.median,
                    run.processor,
                    of_size[0].median / run.median,
                    *(_of_tiers(run) if tiered else [None] * 9),
                    run.resident_mib,
                ]
            )
    return (
        f"{about['processor']}, {about['cores']} cores · {about['memory_gib']} GiB · {about['system']}\n\n"
        f"{options.samples} samples x 26 {options.ids} ids, Adagrad, {options.batches} fresh batches, the first "
        "quarter of which is not counted; numbers for a step; between steps the system's cache of the tiers' files is "
        f"{options.cache}. `disk ms`: what this disk needs to read the missed rows one by one, at the rate measured "
        "after the run\n\n" + markdown_table(head, rows)
    )


def _of_tiers(run: Measured) -> list[float | str | None]:
    return [
        run.distinct,
        run.missed,
        run.missed / run.distinct,
        run.disk,
        run.bytes_read / 1024 / run.missed,
        run.written / run.missed,
        run.moved / run.missed,
        run.cold_memory_bytes,
        run.medium_bytes,
    ]


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parsing = argparse.ArgumentParser(
        prog="python -m benchmarks.storage.tiers", description="Time steps on tiered tables."
    )
    add = parsing.add_argument
    add(
        "--kinds",
        default="dram,dram_ssdhash,dram_leveldb",
        help="kinds of storage; the first is what others are compared with",
    )
    add("--keys", type=positives, default=[1_000_000], metavar="N,M", help="rows of the table (default 1,000,000)")
    add("--memory", type=_parts, default=[0.1], metavar="A,B", help="parts of the rows in the first tier (default 0.1)")
    add("--dim", type=positives, default=[DIM], metavar="N,M", help=f"floats of a row (default {DIM})")
    add("--batches", type=positive, default=200, help="fresh batches (default 200)")
    add("--samples", type=positive, default=4096, help="samples of a batch (default 4096)")
    add("--threads", type=positive, default=2, help="threads of one op (default 2)")
    add("--seed", type=int, default=0, help="seed of the batches (default 0)")
    add("--ids", choices=KINDS, default="zipf", help="how ids are drawn (default zipf)")
    add("--policy", type=_policies, default=["lfu"], metavar="A,B", help="which rows go down first (default lfu)")
    add(
        "--cache",
        choices=("forgotten", "kept"),
        default="forgotten",
        help="what becomes of the system's cache of the tiers' files between steps (default: it is forgotten)",
    )
    add("--folder", help="where rows go that are not in memory (default: a temporary folder)")
    add("--one", action="store_true", help=argparse.SUPPRESS)
    return parsing.parse_args(given)


def _parts(text: str) -> list[float]:
    parts = [float(part) for part in text.split(",")]
    if not all(0 < part <= 1 for part in parts):
        raise argparse.ArgumentTypeError("a part of the rows is above 0 and at most 1")
    return parts


def _policies(text: str) -> list[str]:
    policies = text.split(",")
    if not set(policies) <= {"lfu", "lru"}:
        raise argparse.ArgumentTypeError("a policy is lfu or lru")
    return policies


if __name__ == "__main__":
    sys.exit(main())
