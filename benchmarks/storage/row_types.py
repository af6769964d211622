"""Rows of two bytes beside float32: the AUC of a click model, bytes a row, and the time of a step.

python -m benchmarks.storage.row_types auc [--optimizers adagrad,adam,sgd,ftrl] [--seeds 3] [--steps 1000]
python -m benchmarks.storage.row_types step [--dims 16,64,128] [--keys 2000000] [--steps 60]

The click model has a linear table and one of width 16 with three dense layers over 26 fields of ids. Labels are drawn
by a factorization machine, which nobody is told. Types of one seed begin with the same rows and read the same batches.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import machine

TYPES = ("float32", "bfloat16", "float16")
_FIELDS, _FACTORS, _BATCH = 26, 4, 1024
_RATES = {"adagrad": 0.05, "adam": 0.001, "sgd": 0.5, "momentum": 0.05, "ftrl": 0.05}


@dataclass(frozen=True)
class Trained:
    """One training: the AUC on samples that it did not see, and the bytes of a row of width 16, slots and index too."""

    auc: float
    bytes_a_row: float


def main(given: Sequence[str] | None = None) -> int:
    """Run the program."""
    parsing = argparse.ArgumentParser(prog="python -m benchmarks.storage.row_types", description=__doc__)
    parts = parsing.add_subparsers(required=True)
    auc = parts.add_parser("auc")
    auc.add_argument("--optimizers", default="adagrad,adam,sgd,ftrl")
    auc.add_argument("--types", default=",".join(TYPES))
    for option, default in (("seeds", 3), ("steps", 1000), ("ids", 20_000), ("tested", 100_000)):
        auc.add_argument(f"--{option}", type=int, default=default)
    auc.set_defaults(run=_compare_auc)
    step = parts.add_parser("step")
    step.add_argument("--dims", default="16,64,128")
    for option, default in (("keys", 2_000_000), ("steps", 60), ("turns", 6), ("samples", 4096)):
        step.add_argument(f"--{option}", type=int, default=default)
    step.set_defaults(run=_compare_steps)
    options = parsing.parse_args(given)
    found = machine()
    print(f"{found['processor']}, {found['cores']} cores")
    options.run(options)
    return 0


def auc_of(labels: NDArray[Any], scores: NDArray[Any]) -> float:
    """Return the area under the ROC curve; equal scores count half."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    positive = labels > 0.5
    hits = float(positive.sum())
    return float((ranks[positive].sum() - hits * (hits + 1) / 2) / (hits * (len(labels) - hits)))


class Clicks:
    """Samples: ids [n, 26] of fields of `ids` values each, a few of them often; labels by a factorization machine."""

    def __init__(self, ids: int, seed: int) -> None:
        """Draw what nobody is told."""
        hidden = np.random.default_rng(1000 + seed)
        self._ids = ids
        self._linear = hidden.normal(0, 0.35, _FIELDS * ids)
        self._factors = hidden.normal(0, 0.25, [_FIELDS * ids, _FACTORS])

    def draw(self, random: np.random.Generator, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return ids [count, 26], different in each field, and labels [count]."""
        ids = random.zipf(1.15, [count, _FIELDS]) % self._ids + np.arange(_FIELDS) * self._ids
        taken = self._factors[ids]
        pairs = 0.5 * (taken.sum(1) ** 2 - (taken**2).sum(1)).sum(1)
        odds = self._linear[ids].sum(1) + pairs - 0.5
        return ids, (random.random(count) < 1 / (1 + np.exp(-odds))).astype(np.float32)


def _optimizers(name: str) -> tuple[Any, Any]:
    import tensorflow

    from runtime.optimizers import adagrad, adam, ftrl, gradient_descent, momentum

    v1: Any = tensorflow.compat.v1.train
    rate = _RATES[name]
    if name == "adam":
        return adam.create_hash_optimizer(rate), v1.AdamOptimizer(rate)
    if name == "sgd":
        return gradient_descent.create_hash_optimizer(rate), v1.GradientDescentOptimizer(rate / 10)
    if name == "momentum":
        return momentum.create_hash_optimizer(rate, 0.9), v1.MomentumOptimizer(rate / 10, 0.9)
    if name == "ftrl":
        return ftrl.create_hash_optimizer(rate), v1.AdagradOptimizer(0.02)
    return adagrad.create_hash_optimizer(rate, 0.1), v1.AdagradOptimizer(rate)


def trained(dtype: str, optimizer: str, seed: int, options: argparse.Namespace) -> Trained:
    """Train the click model with rows of a type, in batches of 1,024, then score other samples."""
    import tensorflow

    import runtime

    tf: Any = tensorflow.compat.v1
    clicks, random = Clicks(options.ids, seed), np.random.default_rng(seed)
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(seed)
        keys, labels = tf.placeholder(tf.int64, [None, _FIELDS]), tf.placeholder(tf.float32, [None])
        training = tf.placeholder(tf.bool, [])
        start = tf.random_normal_initializer(stddev=0.05, seed=seed)
        tables = [
            runtime.create_table(tf.int64, dim, name, start, value_dtype=dtype)
            for name, dim in (("wide", 1), ("deep", 16))
        ]
        wide, deep = (runtime.sparse_lookup(one, keys, is_train=training) for one in tables)
        hidden = tf.reshape(deep, [-1, _FIELDS * 16])
        for number, width in enumerate((64, 32, 1)):
            weights = tf.get_variable(f"w{number}", [hidden.shape[1], width])
            hidden = tf.matmul(hidden, weights) + tf.get_variable(
                f"b{number}", [width], initializer=tf.zeros_initializer()
            )
            hidden = tf.nn.relu(hidden) if width > 1 else hidden
        logits = hidden[:, 0] + tf.reduce_sum(wide, [1, 2])
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
        dense, sparse = runtime.get_dense_and_sparse_variable()
        rows, layers = _optimizers(optimizer)
        step = tf.group(layers.minimize(loss, var_list=dense), rows.minimize(loss, var_list=sparse))
        begin = tf.global_variables_initializer()
    with tf.Session(graph=graph) as session:
        session.run(begin)
        for _ in range(options.steps):
            batch, clicked = clicks.draw(random, _BATCH)
            session.run(step, {keys: batch, labels: clicked, training: True})
        tested, clicked = clicks.draw(np.random.default_rng(7777 + seed), options.tested)
        scores = [
            session.run(logits, {keys: tested[at : at + 5000], training: False})
            for at in range(0, options.tested, 5000)
        ]
        deep_table = next(one for one in runtime.status().tables if one.name == "deep" and one.rows)
        return Trained(auc_of(clicked, np.concatenate(scores)), deep_table.bytes / deep_table.rows)


def _compare_auc(options: argparse.Namespace) -> None:
    types = options.types.split(",")
    head = ("optimizer", "type", f"AUC, mean of {options.seeds} seeds", "mean and worst change", "bytes a row")
    print("\n| " + " | ".join(head) + " |\n|---|---|---|---|---|", flush=True)
    for optimizer in options.optimizers.split(","):
        base: list[Trained] = []
        for dtype in types:
            found = [trained(dtype, optimizer, seed, options) for seed in range(options.seeds)]
            base = base or found
            change = [one.auc - other.auc for one, other in zip(found, base, strict=True)]
            mean = statistics.mean(one.auc for one in found)
            print(
                f"| {optimizer} | {dtype} | {mean:.4f} | {statistics.mean(change):+.5f}, {min(change):+.5f} "
                f"| {found[0].bytes_a_row:.0f} |",
                flush=True,
            )


def _step(dtype: str, dim: int, options: argparse.Namespace) -> Callable[[Any], Any]:
    import tensorflow

    import runtime
    from runtime.optimizers import adagrad

    tf: Any = tensorflow.compat.v1
    with tf.Graph().as_default() as graph:
        ids = tf.placeholder(tf.int64, [None, _FIELDS])
        table = runtime.create_table(
            tf.int64, dim, f"{dtype}_{dim}", tf.constant_initializer(0.01), options.keys, value_dtype=dtype
        )
        rows = runtime.sparse_lookup(table, ids)
        step = adagrad.create_hash_optimizer(0.01, 0.1).minimize(tf.reduce_sum(tf.square(rows)))
        begin = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(begin)
    return lambda batch: session.run(step, {ids: batch})


def _compare_steps(options: argparse.Namespace) -> None:
    print("\n| ids | dim | " + " | ".join(f"{one} ms" for one in TYPES) + " | as fast: bfloat16, float16 |")
    print("|---|---|---|---|---|---|")
    for dim in map(int, options.dims.split(",")):
        steps = {dtype: _step(dtype, dim, options) for dtype in TYPES}
        for kind in ("zipf", "uniform"):
            medians = {dtype: statistics.median(times) for dtype, times in _timed(steps, kind, options).items()}
            first = medians["float32"]
            told = " | ".join(f"{medians[one]:.1f}" for one in TYPES)
            print(
                f"| {kind} | {dim} | {told} | {first / medians['bfloat16']:.2f}, {first / medians['float16']:.2f} |",
                flush=True,
            )
    print(f"\nload {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def _timed(steps: dict[str, Callable[[Any], Any]], kind: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Let the types take turns on the same batches; the first turn is not counted."""
    random = np.random.default_rng(0)
    shape = [options.steps // options.turns, options.samples, _FIELDS]
    times: dict[str, list[float]] = {dtype: [] for dtype in steps}
    for turn in range(options.turns + 1):
        batches = random.zipf(1.2, shape) % options.keys if kind == "zipf" else random.integers(0, options.keys, shape)
        for dtype, step in steps.items():
            for batch in batches:
                begin = time.perf_counter()
                step(batch)
                if turn:
                    times[dtype].append((time.perf_counter() - begin) * 1000)
    return times


if __name__ == "__main__":
    raise SystemExit(main())
