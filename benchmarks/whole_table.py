"""The Criteo step with an L2 term over the whole table: ours, with the value exact or held, beside stock.

python -m benchmarks.whole_table [--optimizer adagrad] [--keys 2000000] [--steps 60]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.common import DIM

_SCALE = 1e-4
_EVERY = {"ours, value held for 100 steps": 100, "ours, value exact": 1}


def _ids(random: np.random.Generator, options: argparse.Namespace) -> Any:
    return (random.zipf(1.2, [options.samples, options.fields]) - 1) % options.keys


def _optimizer(name: str, ours: bool) -> Any:
    import tensorflow.compat.v1 as tf

    from runtime.optimizers import adagrad, adam, gradient_descent

    if name == "sgd":
        return (gradient_descent.create_hash_optimizer if ours else tf.train.GradientDescentOptimizer)(0.01)
    if name == "adam":
        return (adam.create_hash_optimizer if ours else tf.train.AdamOptimizer)(0.001)
    return adagrad.create_hash_optimizer(0.01, 0.1) if ours else tf.train.AdagradOptimizer(0.01)


def _build(options: argparse.Namespace, every: int | None) -> tuple[Callable[[Any], float], Callable[[Any], Any]]:
    """Return the step, which gives the loss, and a read of rows; `every` is None for stock."""
    import tensorflow

    import runtime

    tf: Any = tensorflow.compat.v1

    with tf.Graph().as_default() as graph:
        ids = tf.placeholder(tf.int64, [options.samples, options.fields])
        keys = tf.placeholder(tf.int64, [None])
        starts = tf.constant_initializer(0.05)
        if every is None:
            variable = tf.Variable(tf.fill([options.keys, DIM], 0.05), name="table")
            rows, norm = tf.nn.embedding_lookup(variable, ids), tf.nn.l2_loss(variable)
            read = tf.nn.embedding_lookup(variable, keys)
        else:
            table = runtime.create_table(key_dtype=tf.int64, dim=DIM, name="table", emb_initializer=starts)
            rows = runtime.sparse_lookup(table, ids)
            read = runtime.sparse_lookup(table, keys, is_train=False)
            norm = runtime.whole_table_l2(table, size=None if every > 1 else options.keys, every=every)
        loss = tf.reduce_sum(tf.square(rows)) / options.samples + _SCALE * norm
        step = _optimizer(options.optimizer, every is not None).minimize(loss)
        begin = tf.global_variables_initializer()
    config = tf.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)
    session = tf.Session(graph=graph, config=config)
    session.run(begin)
    return (
        lambda given: float(session.run([loss, step], {ids: given})[0]),
        lambda given: session.run(read, {keys: given}),
    )


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table; 1 where rows differ from stock's."""
    parsing = argparse.ArgumentParser(prog="python -m benchmarks.whole_table", description=__doc__)
    parsing.add_argument("--optimizer", choices=("sgd", "adagrad", "adam"), default="adagrad")
    for option, default in (("keys", 2_000_000), ("samples", 4096), ("fields", 26), ("steps", 60), ("turns", 3)):
        parsing.add_argument(f"--{option}", type=int, default=default)
    options = parsing.parse_args(given)
    systems = {name: _build(options, every) for name, every in {**_EVERY, "stock": None}.items()}
    random = np.random.default_rng(0)
    times: dict[str, list[float]] = {name: [] for name in systems}
    for turn in range(options.turns + 1):
        batches = [_ids(random, options) for _ in range(options.steps // options.turns)]
        for name, (step, _) in systems.items():
            for batch in batches:
                begin = time.perf_counter()
                step(batch)
                if turn:  # the first turn warms up
                    times[name].append((time.perf_counter() - begin) * 1000)
    probe = np.unique(np.concatenate([batches[-1].ravel()[:2000], np.arange(0, options.keys, options.keys // 1000)]))
    expected = systems["stock"][1](probe)
    worst = max(float(np.abs(read(probe) - expected).max()) for _, read in systems.values())
    base = statistics.median(times["stock"])
    print(f"| {options.optimizer}, {options.keys:,} rows | median ms | times as fast as stock |\n|---|---|---|")
    for name, own in times.items():
        print(f"| {name} | {statistics.median(own):.1f} | {base / statistics.median(own):.1f} |")
    print(f"\nlargest difference of rows: {worst:.1e}")
    return int(worst > 1e-5)


if __name__ == "__main__":
    raise SystemExit(main())
