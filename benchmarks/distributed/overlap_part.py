"""One rank of `overlap`: times steps of tables alone, of a dense tower alone, and of both in one model.

Rank 0 prints its numbers as one line of JSON. It is started by runtime.launch.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from benchmarks.common import INITIAL_VALUE, ZIPF_EXPONENT
from benchmarks.distributed.overlap import WHAT
from benchmarks.distributed.ranks import LABEL
from runtime import ranks
from runtime.optimizers import adagrad

FEATURES = 64


class Model:
    """A linear layer over rows and a tower over dense features, added up: neither needs the other before the loss."""

    def __init__(self, options: argparse.Namespace) -> None:
        first = tf.compat.v1.random_normal_initializer(stddev=INITIAL_VALUE, seed=1)
        self.tables = [
            runtime.create_table(tf.int64, options.dim, f"t{i}", first, options.keys) for i in range(options.tables)
        ]
        random = np.random.default_rng(2)
        widths = [FEATURES, *[options.width] * options.layers, 1]
        shapes = itertools.pairwise(widths)
        self.tower = [tf.Variable(random.normal(0, 0.05, shape).astype(np.float32)) for shape in shapes]
        self.top = tf.Variable(random.normal(0, 0.05, [options.tables * options.dim, 1]).astype(np.float32))
        self.sparse_optimizer = adagrad.create_hash_optimizer(0.01, 0.1)
        self.dense_optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.001)

    def pairs(self, ids: tf.Tensor) -> list[tuple[Any, tf.Tensor]]:
        """Return the tables and their ids, of ids [samples, tables]."""
        return list(zip(self.tables, tf.unstack(ids, axis=1), strict=True))

    def step_ahead(
        self, ids: tf.Tensor, features: tf.Tensor, exchanged: runtime.ExchangedIds, more: tf.Tensor
    ) -> tuple[tf.Tensor, runtime.ExchangedIds]:
        """Train on both with ids that are exchanged already, and exchange the next ones beside that."""
        return self.step("both", ids, features, exchanged), runtime.exchange_ids(self.pairs(more))

    def step(
        self, what: str, ids: tf.Tensor, features: tf.Tensor, exchanged: runtime.ExchangedIds | None = None
    ) -> tf.Tensor:
        """Train on ids [samples, tables] and features [samples, FEATURES] of this rank; return its loss."""
        sparse = [] if what == "tower" else [table.variable for table in self.tables]
        dense = [*(() if what == "tower" else (self.top,)), *(() if what == "tables" else self.tower)]
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch([*sparse, *dense])
            parts = []
            if what != "tower":
                rows = runtime.grouped_lookup(self.pairs(ids), exchanged=exchanged)
                parts.append(tf.concat(rows, 1) @ self.top)
            if what != "tables":
                parts.append(self._through_tower(features))
            loss = tf.reduce_mean((tf.add_n(parts) - 1.0) ** 2)
        pairs = ranks.reduced_gradients(zip(tape.gradient(loss, [*sparse, *dense]), [*sparse, *dense], strict=True))
        if sparse:
            self.sparse_optimizer.apply_gradients(pairs[: len(sparse)])
        self.dense_optimizer.apply_gradients(pairs[len(sparse) :])
        return loss

    def _through_tower(self, features: tf.Tensor) -> tf.Tensor:
        for layer in self.tower[:-1]:
            features = tf.nn.relu(features @ layer)
        return features @ self.tower[-1]


def slow_down(engine: Any, milliseconds: float) -> None:
    """Let what the engine exchanges from now on arrive so much later, as over a slow network: nothing computes then."""
    inner = engine._exchanged

    def sleep(_: Any) -> Any:
        time.sleep(milliseconds / 1e3)
        return np.int32(0)

    def slow(values: tf.Tensor, *more: Any) -> tf.Tensor:
        arrived = inner(values, *more)
        with tf.control_dependencies([tf.numpy_function(sleep, [tf.size(arrived)], tf.int32)]):
            return tf.identity(arrived)

    engine._exchanged = slow


def timed(step: Callable[..., tf.Tensor], batches: Sequence[tuple[Any, Any]], repeats: int) -> list[float]:
    """Return milliseconds of each step, without the first pass over the batches, which traces and inserts."""
    times = []
    for repeat in range(repeats + 1):
        for ids, features in batches:
            begun = time.perf_counter()
            step(ids, features).numpy()
            if repeat:
                times.append((time.perf_counter() - begun) * 1e3)
    return times


def ahead(model: Model, batches: Sequence[tuple[Any, Any]]) -> Callable[..., tf.Tensor]:
    """Return a step that exchanges the ids of the next batch; batches are to come in their order, again and again."""
    step = tf.function(model.step_ahead, reduce_retracing=True)
    exchanged = runtime.exchange_ids(model.pairs(batches[0][0]))
    following = itertools.cycle([*batches[1:], batches[0]])

    def one(ids: tf.Tensor, features: tf.Tensor) -> tf.Tensor:
        nonlocal exchanged
        loss, exchanged = step(ids, features, exchanged, next(following)[0])
        return loss

    return one


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for name in ("samples", "tables", "keys", "dim", "width", "layers", "batches", "repeats"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--delay", type=float, required=True)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    """Train each kind of model, and print the numbers on rank 0."""
    options = arguments(given)
    os.environ["RECMIGRATE_NUM_THREADS"] = "1"
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(3)  # two sleep, for rows and for ids ahead, where one computes
    engine = ranks.start()
    if options.delay and engine.size > 1:
        slow_down(engine, options.delay)
    random = np.random.Generator(np.random.PCG64(engine.rank))
    shape = (options.batches, options.samples, options.tables)
    ids = (random.zipf(ZIPF_EXPONENT, shape) % options.keys).astype(np.int64)
    features = random.normal(size=(*shape[:2], FEATURES)).astype(np.float32)
    batches = [(tf.constant(one), tf.constant(two)) for one, two in zip(ids, features, strict=True)]
    model = Model(options)
    numbers: dict[str, Any] = {}
    for what in WHAT:
        step = tf.function(lambda *batch, what=what: model.step(what, *batch), reduce_retracing=True)
        numbers[what] = timed(step, batches, options.repeats)
    numbers["ahead"] = timed(ahead(model, batches), batches, options.repeats)
    numbers["loss"] = float(step(*batches[0]))
    if engine.rank == 0:
        print(LABEL + json.dumps(numbers), flush=True)


if __name__ == "__main__":
    main()
