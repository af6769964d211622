"""One rank of `ranks`: trains on its share of each batch, and says how long that took and what it sent.

Rank 0 prints its numbers as one line of JSON. It is started by itself for one rank, by runtime.launch for several.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from benchmarks.common import INITIAL_VALUE, ZIPF_EXPONENT, Ids
from runtime import ranks
from runtime.optimizers import adagrad

HIDDEN = 64
COUNTED_STEPS = 3
#: Floats that a rank sends to all others together where the exchange alone is timed.
EXCHANGED = (1, 1_000, 10_000, 100_000, 400_000)
CHAINED = 16
LABEL = "numbers: "


class Model:
    """Tables whose rows go through one hidden layer; the loss is the mean of squares over the whole batch."""

    def __init__(self, options: argparse.Namespace) -> None:
        first = tf.compat.v1.random_normal_initializer(stddev=INITIAL_VALUE, seed=1)
        self.samples = options.samples
        self.tables = [
            runtime.create_table(tf.int64, options.dim, f"t{i}", first, options.keys) for i in range(options.tables)
        ]
        random = np.random.default_rng(2)
        self.dense = [
            tf.Variable(random.normal(0, 0.05, [options.tables * options.dim, HIDDEN]).astype(np.float32)),
            tf.Variable(random.normal(0, 0.05, [HIDDEN, 1]).astype(np.float32)),
        ]
        self.sparse_optimizer = adagrad.create_hash_optimizer(0.01, 0.1)
        self.dense_optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.01)

    def pairs(self, ids: tf.Tensor) -> list[tuple[Any, tf.Tensor]]:
        """Return the tables and their ids, of ids [samples of this rank, tables]."""
        return list(zip(self.tables, tf.unstack(ids, axis=1), strict=True))

    def step_ahead(
        self, ids: tf.Tensor, exchanged: runtime.ExchangedIds, more: tf.Tensor
    ) -> tuple[tf.Tensor, runtime.ExchangedIds]:
        """Train on ids that are exchanged already, and exchange the next ones beside that."""
        return self.step(ids, exchanged), runtime.exchange_ids(self.pairs(more))

    def step(self, ids: tf.Tensor, exchanged: runtime.ExchangedIds | None = None) -> tf.Tensor:
        """Train on ids [samples of this rank, tables]; return this rank's part of the loss."""
        variables = [*(table.variable for table in self.tables), *self.dense]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            rows = runtime.grouped_lookup(self.pairs(ids), exchanged=exchanged)
            hidden = tf.nn.relu(tf.concat(rows, 1) @ self.dense[0] + 0.1)
            loss = tf.reduce_sum((hidden @ self.dense[1] - 1.0) ** 2) / self.samples
        pairs = ranks.reduced_gradients(zip(tape.gradient(loss, variables), variables, strict=True), "sum")
        self.sparse_optimizer.apply_gradients(pairs[: len(self.tables)])
        self.dense_optimizer.apply_gradients(pairs[len(self.tables) :])
        return loss


class Counter:
    """What the collectives of this rank are given to send to others while functions are traced under it."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.bytes: list[tf.Tensor] = []

    def watch(self, engine: Any) -> None:
        """Count what goes through the engine from now on, by wrapping what all its exchanges come down to."""
        others = engine.size - 1

        def noted(label: str, name: str, size_of: Callable[..., tf.Tensor]) -> None:
            inner = getattr(engine, name)

            def wrapped(values: tf.Tensor, *more: Any) -> tf.Tensor:
                width = values.dtype.size * int(np.prod(values.shape[1:] or [1]))
                kind = "all-gather" if size_of is _sent_by_local and not more else label
                self.labels.append(f"{kind} {values.dtype.name}")
                self.bytes.append(tf.cast(size_of(values, *more) * width, tf.int64))
                return inner(values, *more)

            setattr(engine, name, wrapped)

        if engine.name == "local":
            noted("all-to-all", "_exchanged", _sent_by_local)
            return
        noted("all-to-all", "_exchanged", lambda _, route: tf.reduce_sum(route.counts) - route.counts[engine.rank])
        noted("all-gather", "_gathered", lambda values, _: tf.shape(values)[0] * others)
        noted("lengths", "_equal_gather", lambda values: tf.shape(values)[0] * others)
        noted("all-reduce", "_reduced", lambda values: tf.shape(values)[0])


def _sent_by_local(values: tf.Tensor, counts: tf.Tensor | None = None, _: Any = None) -> tf.Tensor:
    """Return how many rows an exchange of the local engine sends to others."""
    engine = ranks.current()
    if counts is None:
        return tf.shape(values)[0] * (engine.size - 1)
    return tf.reduce_sum(counts) - counts[engine.rank]


def batches(options: argparse.Namespace) -> Ids:
    """Return ids [batches, samples, tables], zipf, the same on every rank."""
    random = np.random.Generator(np.random.PCG64(options.seed))
    shape = (options.batches, options.samples, options.tables)
    ids: Ids = (random.zipf(ZIPF_EXPONENT, shape) % options.keys).astype(np.int64)
    return ids


def counted(options: argparse.Namespace, model: Model, share: Ids) -> list[dict[str, Any]]:
    """Return the messages of a step in their order, and the bytes that this rank sends to others, on average."""
    counter = Counter()
    counter.watch(ranks.current())

    @tf.function(input_signature=[tf.TensorSpec([None, options.tables], tf.int64)])  # type: ignore[untyped-decorator]
    def step(ids: tf.Tensor) -> tf.Tensor:
        model.step(ids)
        return tf.stack(counter.bytes)

    sent = np.mean([step(tf.constant(one)).numpy() for one in share[:COUNTED_STEPS]], 0)
    return [{"message": label, "bytes": float(size)} for label, size in zip(counter.labels, sent, strict=True)]


def exchange_times(repeats: int = 30) -> list[tuple[int, float]]:
    """Return bytes sent to others and seconds of an all-to-all of floats, median, for several sizes.

    As in a step, exchanges of one function follow each other: one alone would wait for Python and for sleeping threads.
    """
    engine = ranks.current()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])  # type: ignore[untyped-decorator]
    def exchange(values: tf.Tensor) -> tf.Tensor:
        each = tf.fill([engine.size], tf.size(values) // engine.size)
        for _ in range(CHAINED):
            values = engine.all_to_all(values, ranks.Route(each, each, each[0]))
        return values

    found = []
    for floats in EXCHANGED:
        values = tf.zeros([floats // (engine.size - 1) * engine.size or engine.size])
        times = []
        for _ in range(repeats):
            begun = time.perf_counter()
            exchange(values).numpy()
            times.append((time.perf_counter() - begun) / CHAINED)
        found.append((values.shape[0] * 4 * (engine.size - 1) // engine.size, statistics.median(times)))
    return found


def trained(options: argparse.Namespace, model: Model, share: Ids) -> tuple[list[float], list[float], float]:
    """Return milliseconds and losses of steps, and the processor time of one."""
    spec = tf.TensorSpec([None, options.tables], tf.int64)
    plain = tf.function(model.step, input_signature=[spec])
    batches = [tf.constant(batch) for batch in share]
    exchanged = runtime.exchange_ids(model.pairs(batches[0]))
    ahead = tf.function(model.step_ahead, input_signature=[spec, exchanged.spec(), spec])
    times, losses, cpu = [], [], 0.0
    for repeat in range(options.repeats + 1):  # the first pass traces and inserts
        for number, ids in enumerate(batches):
            begun, used = time.perf_counter(), time.process_time()
            if options.ahead:
                loss, exchanged = ahead(ids, exchanged, batches[(number + 1) % len(batches)])
            else:
                loss = plain(ids)
            losses.append(float(loss))
            if repeat:
                times.append((time.perf_counter() - begun) * 1e3)
                cpu += (time.process_time() - used) * 1e3
    return times, losses, cpu / len(times)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--ahead", action="store_true")
    for name in ("threads", "samples", "tables", "keys", "dim", "batches", "repeats", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    """Train, and print the numbers on rank 0."""
    options = arguments(given)
    os.environ["RECMIGRATE_NUM_THREADS"] = str(options.threads)
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(options.threads)
    engine = ranks.start()
    model = Model(options)
    every = batches(options)
    edges = np.linspace(0, options.samples, engine.size + 1).astype(int)
    share = every[:, edges[engine.rank] : edges[engine.rank + 1]]
    times, losses, cpu = trained(options, model, share)
    total = engine.all_reduce(tf.constant(losses, tf.float32)).numpy()
    alone = engine.size == 1
    cpu_of_all = engine.all_reduce(tf.constant(cpu, tf.float32)).numpy()
    numbers = {
        "times": times,
        "cpu_ms": float(cpu_of_all),
        "losses": total.astype(float).tolist(),
        "exchanges": [] if alone else exchange_times(),
        "messages": [] if alone else counted(options, model, share),
        "distinct": float(np.mean([len(np.unique(share[b, :, t])) for b in range(3) for t in range(options.tables)])),
        "dense": int(sum(np.prod(one.shape) for one in model.dense)),
    }
    if engine.rank == 0:
        print(LABEL + json.dumps(numbers), flush=True)


if __name__ == "__main__":
    main()
