"""Lookups that insert, in each of their ways, with two builds of the native library by turns: time and equal bits.

python -m benchmarks.lookups BEFORE.so [--after runtime/native/librecmigrate.so] [--rounds 5] [--steps 30]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import BenchmarkError, markdown_table

#: Each way: ids of a batch, values of a row, the optimizer that trains the table, further arguments of `create_table`.
WAYS: dict[str, tuple[int, int, str, dict[str, Any]]] = {
    "few ids, nothing trains": (2_000, 16, "", {}),
    "narrow rows": (20_000, 16, "adagrad", {}),
    "wide rows": (20_000, 64, "adagrad", {}),
    "rows that catch up": (20_000, 16, "adam", {}),
    "rows of two bytes": (20_000, 16, "adagrad", {"value_dtype": "bfloat16"}),
    "a limit of memory": (20_000, 16, "adagrad", {"max_bytes": 1 << 24, "when_full": "evict"}),
    "rows on disk": (20_000, 16, "adagrad", {"storage": 1 << 21}),
}
KEYS = 100_000


def measure(library: Path, steps: int) -> dict[str, tuple[float, str]]:
    """Return for each way the processor's microseconds of a lookup, the median, and a digest of all that was read."""
    from runtime import native

    native.LIBRARY = library
    with tempfile.TemporaryDirectory() as folder:
        return {name: _measure_way(name, Path(folder), steps) for name in WAYS}


def _measure_way(name: str, folder: Path, steps: int) -> tuple[float, str]:
    import tensorflow as tf

    import runtime
    from runtime.optimizers import adagrad, adam

    v1 = tf.compat.v1
    count, dim, optimizer, options = WAYS[name]
    if "storage" in options:
        options = {"storage": runtime.Storage("dram_ssdhash", path=str(folder), sizes=[options["storage"]])}
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(3)
        initializer = v1.random_normal_initializer(stddev=0.1, seed=5)
        table = runtime.create_table(tf.int64, dim, "t", initializer, KEYS, **options)
        ids = v1.placeholder(tf.int64, [None])
        rows = runtime.sparse_lookup(table, ids)
        train = tf.no_op()
        if optimizer:
            module = {"adagrad": adagrad, "adam": adam}[optimizer]
            gradients = tf.gradients(tf.reduce_sum((rows - 1.0) ** 2), [table.variable])
            with tf.control_dependencies([rows]):
                train = module.create_hash_optimizer(0.01).apply_gradients(
                    list(zip(gradients, [table.variable], strict=True))
                )
        session.run(v1.global_variables_initializer())
        session.graph.finalize()
        only_rows = session.make_callable(rows.op, [ids])
        generator, digest, times = np.random.default_rng(1), hashlib.sha256(), []
        for _ in range(steps):
            keys = generator.zipf(1.2, count) % KEYS
            begin = time.process_time()
            only_rows(keys)
            times.append((time.process_time() - begin) * 1e6)
            digest.update(session.run([rows, train], {ids: keys})[0].tobytes())
    return statistics.median(times[len(times) // 3 :]), digest.hexdigest()


def main(arguments: list[str] | None = None) -> None:
    """Print the ratio of the medians for each way; an error where one build reads other bits than the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lookups", description=__doc__.split("\n\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("--after", type=Path, default=Path("runtime/native/librecmigrate.so"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.alone:
        print(json.dumps(measure(options.before.resolve(), options.steps)))
        return
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in WAYS}
    digests: dict[str, str] = {}
    for turn in range(options.rounds):
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            for name, (microseconds, digest) in _in_a_process((options.before, options.after)[side], options.steps):
                if digests.setdefault(name, digest) != digest:
                    raise BenchmarkError(f"the builds read different rows: {name}")
                times[name][side].append(microseconds)
    rows: list[list[float | str | None]] = []
    for name, sides in times.items():
        before, after = map(statistics.median, sides)
        rows.append([name, before, after, after / before])
    print(markdown_table(("lookup", "before µs", "after µs", "after ÷ before"), rows))


def _in_a_process(library: Path, steps: int) -> Iterable[tuple[str, tuple[float, str]]]:
    command = [sys.executable, "-m", "benchmarks.lookups", str(library), "--alone", "--steps", str(steps)]
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "RECMIGRATE_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=quiet)
    measured: dict[str, tuple[float, str]] = json.loads(done.stdout.splitlines()[-1])
    return measured.items()


if __name__ == "__main__":
    main()
