"""One measurement of the table engine in a process of its own: `python -m benchmarks.engine_part NAME SETTINGS`.

SETTINGS is JSON; the result is one line of JSON on stdout. `benchmarks.engine` starts it and prints the tables.
Every measurement compares what was computed with a reference and fails when it differs: such a timing means nothing.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import BenchmarkError, huge_page_bytes
from benchmarks.oracle import TOLERANCE, require_close

BATCH = 4096 * 26
COLD_BATCHES = 40
REPEATS = 7
CHECKED_KEYS = 64
GRADIENT, RATE, STARTS = 0.1, 0.01, {"adagrad": [0.1], "sgd": []}
_SCATTER = np.int64(-7046029254386353131)  # odd: key * this is one to one on 64 bits

Ids = NDArray[np.int64]


def timed(call: Callable[[], Any]) -> float:
    """Return the milliseconds of one call."""
    return timed_value(call)[0]


def timed_value(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the milliseconds of one call, and what it returned."""
    start = time.perf_counter()
    value = call()
    return (time.perf_counter() - start) * 1e3, value


def resident_bytes() -> int:
    """Return the process' resident memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def keys_of(numbers: Ids) -> Ids:
    """Return well spread keys for the numbers 0, 1, 2, …"""
    return numbers * _SCATTER


class Reference:
    """What some rows must be, in float64, when every id of a batch brings the same gradient."""

    def __init__(self, keys: int, optimizer: str) -> None:
        self.numbers = np.unique(np.random.default_rng(7).integers(0, keys, CHECKED_KEYS))
        self._weight = np.full(self.numbers.size, 0.01)
        self._accumulator = np.full(self.numbers.size, 0.1)
        self._optimizer = optimizer

    def step(self, numbers: Ids) -> None:
        """Follow the update of one batch."""
        at = np.minimum(np.searchsorted(self.numbers, numbers), self.numbers.size - 1)
        gradient = GRADIENT * np.bincount(at[self.numbers[at] == numbers], minlength=self.numbers.size)
        if self._optimizer == "adagrad":
            self._accumulator += gradient**2
            gradient = gradient / np.sqrt(self._accumulator)
        self._weight -= RATE * gradient

    def check(self, rows: NDArray[np.float32]) -> None:
        """Raise BenchmarkError when `rows` [n, dim] of `numbers` [n] are others."""
        expected = np.repeat(self._weight[:, np.newaxis], rows.shape[1], axis=1)
        require_close("rows of the table", rows.astype(np.float64), expected, TOLERANCE[self._optimizer])


class Engine:
    """A v1 session on one table (constant initial rows) whose lookup op and update op are run apart."""

    def __init__(self, keys: int, dim: int, threads: int, optimizer: str = "adagrad") -> None:
        import tensorflow.compat.v1 as tf

        from runtime import create_table, native, sparse_lookup

        tf.disable_eager_execution()
        self.tf = tf
        self.table = create_table(tf.int64, dim, "table", tf.constant_initializer(0.01))
        self.ids = tf.placeholder(tf.int64, [None])
        self.rows = sparse_lookup(self.table, self.ids)
        gradients = tf.Variable(tf.fill([BATCH, dim], GRADIENT))
        # The second number: Adagrad's epsilon, SGD's weight decay.
        self.update = native.ops().rec_apply(
            self.table.handle,
            self.ids,
            gradients,
            tf.constant([RATE, 0.0]),
            optimizer=optimizer,
            starts=STARTS[optimizer],
        )
        self.reference = Reference(keys, optimizer)
        self.saver = tf.train.Saver([self.table.variable])
        config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=2)
        self.session = tf.Session(config=config)
        self.session.run(tf.global_variables_initializer())

    def step(self, numbers: Ids) -> tuple[float, float]:
        """Look up and update the keys of `numbers`; return the milliseconds of each."""
        ids = keys_of(numbers)
        self.reference.step(numbers)
        return (
            timed(lambda: self.session.run(self.rows.op, {self.ids: ids})),
            timed(lambda: self.session.run(self.update, {self.ids: ids})),
        )

    def sample(self) -> NDArray[np.float32]:
        """Return the rows of the reference's keys."""
        return np.asarray(self.session.run(self.rows, {self.ids: keys_of(self.reference.numbers)}))

    def check(self) -> None:
        """Raise BenchmarkError when the table's rows are not the reference's."""
        self.reference.check(self.sample())

    def fill(self, keys: int) -> list[float]:
        """Insert and update keys 0 … in batches; return the milliseconds of each step."""
        steps = [sum(self.step(np.arange(at, at + BATCH))) for at in range(0, keys, BATCH)]
        self.check()
        return steps


def cold(keys: int, dim: int = 16, threads: int = 2) -> dict[str, Any]:
    """Fill a table, then time steps on fresh uniform batches; memory and pauses of the growth beside."""
    from runtime import status

    engine = Engine(keys, dim, threads)
    engine.step(np.arange(BATCH))
    before = resident_bytes()
    steps = engine.fill(keys)
    rows = int(engine.session.run(engine.table.size()))
    # Nothing grew when all keys fit in the first batch.
    own = (resident_bytes() - before) / (rows - BATCH) - 2 * 4 * dim if rows > BATCH else None
    found = status()
    if found.threads != threads:
        raise BenchmarkError(f"the native pool has {found.threads} threads where {threads} were asked for")
    random = np.random.default_rng(1)
    reported = found.tables[0].bytes / rows - 2 * 4 * dim
    times = [engine.step(random.integers(0, rows, BATCH)) for _ in range(COLD_BATCHES)]
    engine.check()
    lookup, update = (statistics.median(part) for part in zip(*times, strict=True))
    return {
        "rows": rows,
        "lookup_ns": lookup * 1e6 / BATCH,
        "update_ns": update * 1e6 / BATCH,
        "bytes_beyond_rows": own,
        "reported_beyond_rows": reported,
        "pause": max(steps) / statistics.median(steps),
        "huge_gib": huge_page_bytes() / 2**30,
    }


def save(keys: int, folder: str, optimizer: str) -> dict[str, Any]:
    """Save and restore a table, in turn with writing, syncing and reading a plain file of the same size.

    The fastest of the rounds after the first counts: where a hypervisor lends memory on first touch, any of them may
    wait for that (up to 2 s a GiB, whoever writes).
    """
    engine = Engine(keys, 16, 2, optimizer)
    engine.fill(keys)
    prefix, plain = f"{folder}/model", Path(folder) / "plain"
    content = b""
    times: dict[str, list[float]] = {"save": [], "write": [], "restore": [], "read": []}
    for _ in range(REPEATS):
        times["save"].append(timed(lambda: engine.saver.save(engine.session, prefix, write_meta_graph=False)))
        size = sum(part.stat().st_size for part in Path(folder).glob("model.data*"))
        content = content or os.urandom(1 << 20) * (size >> 20)
        saved = engine.sample()
        engine.step(np.arange(BATCH))  # something for the restore to undo
        engine.step(engine.reference.numbers[np.arange(BATCH) % engine.reference.numbers.size])
        times["write"].append(timed(functools.partial(_replace, plain, content)))
        times["restore"].append(timed(lambda: engine.saver.restore(engine.session, prefix)))
        if not np.array_equal(engine.sample(), saved):
            raise BenchmarkError("the restored rows differ from the saved ones; such a timing means nothing")
        times["read"].append(timed(plain.read_bytes))
    fastest = {name: min(values[1:]) for name, values in times.items()}
    return {"gib": len(content) / 2**30, **fastest}


def _replace(path: Path, content: bytes) -> None:
    """Write and sync a new file, then put it in place of the old one, as a checkpoint does: both need fresh pages."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def pooled(kind: str, combiner: str, weighted: bool) -> dict[str, Any]:
    """Time a pooled lookup of 8,192 bags of 20 ids, and its Adagrad step, beside stock's on a static variable."""
    import tensorflow.compat.v1 as tf

    from runtime import create_table, embedding_lookup_sparse
    from runtime.optimizers import adagrad

    tf.disable_eager_execution()
    bags, each, keys = 8192, 20, 1_000_000
    random = np.random.default_rng(0)
    many = (REPEATS * 12, bags * each)
    batches = random.integers(0, keys, many) if kind == "uniform" else random.zipf(1.2, many) % keys
    ids = tf.placeholder(tf.int64, [bags * each])
    where = tf.constant(np.stack([np.repeat(np.arange(bags), each), np.tile(np.arange(each), bags)], 1))
    sparse = tf.SparseTensor(where, ids, [bags, each])
    weights = tf.SparseTensor(where, tf.constant(random.random(bags * each), tf.float32), [bags, each])
    weights = weights if weighted else None
    table = create_table(tf.int64, 16, "table", tf.constant_initializer(0.01))
    variable = tf.Variable(tf.fill([keys, 16], 0.01))
    ours = embedding_lookup_sparse(table, sparse, weights, combiner)
    stock = tf.nn.embedding_lookup_sparse(variable, sparse, weights, combiner=combiner)
    loss = [tf.reduce_sum(tf.square(pooled_rows)) for pooled_rows in (ours, stock)]
    fetches = {
        "ours forward": ours.op,
        "stock forward": stock.op,
        "ours step": [loss[0], adagrad.create_hash_optimizer(0.1, 0.1).minimize(loss[0])],
        "stock step": [loss[1], tf.train.AdagradOptimizer(0.1).minimize(loss[1], var_list=[variable])],
    }
    with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)) as session:
        session.run(tf.global_variables_initializer())
        times: dict[str, list[float]] = {name: [] for name in fetches}
        agree("pooled rows", *session.run([ours, stock], {ids: batches[0]}))
        for number, batch in enumerate(batches):
            found = {}
            for name, fetch in fetches.items():
                spent, found[name] = timed_value(functools.partial(session.run, fetch, {ids: batch}))
                times[name] += [spent] if number >= REPEATS else []
            agree("losses of a step", found["ours step"][0], found["stock step"][0])
        agree("pooled rows", *session.run([ours, stock], {ids: batches[0]}))
    return {name: statistics.median(values) for name, values in times.items()}


def exact(keys: int) -> dict[str, Any]:
    """Time a step of stock's dense v1 Adam and of the table's, which gives the same rows; every row written before.

    Rows that were never written have nothing to catch up with: an empty table would be timed at half the work.
    """
    import tensorflow.compat.v1 as tf

    from runtime import create_table, sparse_lookup

    try:
        adam = importlib.import_module("runtime.optimizers.adam")
    except ImportError:
        return {"skipped": "this runtime has no dense-exact Adam (runtime.optimizers.adam): nothing was measured"}
    tf.disable_eager_execution()
    ids = tf.placeholder(tf.int64, [None])
    table = create_table(tf.int64, 16, "table", tf.constant_initializer(0.01))
    variable = tf.Variable(tf.fill([keys, 16], 0.01))
    rows = [sparse_lookup(table, ids), tf.gather(variable, ids)]
    losses = [tf.reduce_sum(tf.square(found)) for found in rows]
    optimizers = [adam.create_hash_optimizer(1e-5), tf.train.AdamOptimizer(1e-5)]
    steps = {
        "ours": [losses[0], optimizers[0].minimize(losses[0])],
        "stock": [losses[1], optimizers[1].minimize(losses[1], var_list=[variable])],
    }
    random = np.random.default_rng(0)
    order = np.resize(random.permutation(keys), (-(-keys // BATCH), BATCH))
    batches = {
        "fill": list(order),
        "zipf": [random.zipf(1.2, BATCH) % keys for _ in range(COLD_BATCHES)],
        "uniform": [random.integers(0, keys, BATCH) for _ in range(COLD_BATCHES)],
    }
    with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)) as session:
        session.run(tf.global_variables_initializer())
        times: dict[str, list[float]] = {}
        for kind, chosen in batches.items():
            for batch in chosen:
                # The losses of the timed steps: to fetch them before would do part of the work outside the clock.
                found = {}
                for name, step in steps.items():
                    spent, (found[name], _) = timed_value(functools.partial(session.run, step, {ids: batch}))
                    times.setdefault(f"{name} {kind}", []).append(spent)
                agree(f"losses of {kind} ids", found["ours"], found["stock"])
        some = random.integers(0, keys, CHECKED_KEYS)
        agree("rows", *session.run(rows, {ids: some}))
    return {name: statistics.median(values) for name, values in times.items()}


def agree(what: str, ours: Any, stock: Any) -> None:
    """Raise BenchmarkError when ours and stock differ by more than float32 sums do."""
    found, expected = (np.atleast_1d(np.asarray(part, np.float64)) for part in (ours, stock))
    require_close(f"{what}, ours and stock,", found, expected, 1e-4)


PARTS: dict[str, Callable[..., dict[str, Any]]] = {"cold": cold, "save": save, "pooled": pooled, "exact": exact}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]](**json.loads(sys.argv[2]))))
