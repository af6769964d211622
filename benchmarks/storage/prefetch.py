"""A model's step on a table whose rows lie in several tiers, with and without reading the next batches' rows ahead.

python -m benchmarks.storage.prefetch [--kinds dram_ssdhash] [--keys 1000000] [--memory 0.1] [--prefetch 2]
    [--dense 512,256]

All variants train by turns in one process, some steps each, so that they share whatever else the machine does; the
first steps of each turn are not counted.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import DIM, KINDS, Ids, Settings, draw, machine, markdown_table
from benchmarks.options import positive, positives

ROW_BYTES = (2 * DIM + 4) * 4 + 16  # value, Adagrad's slot, cells and a part of the index
WARM_UP = 0.25  # of the turns: the tiers find out what is used
_UNCOUNTED = 2  # steps of each turn
_DENSE = "dense alone"


@dataclass
class Variant:
    """One table and how its batches come; times in milliseconds."""

    name: str
    step: Callable[[Any], float]
    batches: Iterator[Any]
    status: Callable[[], Any] = lambda: ()
    times: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    before: Any = ()

    def turn(self, steps: int, counts: bool) -> None:
        """Train some steps."""
        for number in range(steps):
            start = time.perf_counter()
            self.losses.append(self.step(next(self.batches)))
            if counts and number >= _UNCOUNTED:
                self.times.append((time.perf_counter() - start) * 1e3)


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 1 when two variants computed something else."""
    options = _arguments(given)
    with tempfile.TemporaryDirectory(prefix="recmigrate-prefetch-", dir=options.folder) as folder:
        variants = _variants(options, Path(folder))
        warm = int(options.turns * WARM_UP)
        for turn in range(options.turns):
            for one in variants:
                if turn == warm:
                    one.before = one.status()
                one.turn(options.steps, turn >= warm)
        print(_report(options, variants, (options.turns - warm) * options.steps))
    tables = [one for one in variants if one.name != _DENSE]
    same = all(one.losses == tables[0].losses for one in tables)
    if not same:
        print("prefetch: the losses differ between variants; they must be the same bits", file=sys.stderr)
    return 0 if same else 1


def _variants(options: argparse.Namespace, folder: Path) -> list[Variant]:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    settings = Settings(samples=options.samples, keys=options.keys)
    count = options.turns * options.steps
    drawn = np.concatenate(
        [draw(options.ids, 1, settings, options.seed + 1 + number, scatter=True) for number in range(count)]
    )
    variants = [_dense_alone(options, settings)] if options.dense else []
    variants.append(_variant(options, settings, drawn, "dram", 0, folder))
    for kind, depth in itertools.product(options.kinds.split(","), [0, *options.prefetch]):
        variants.append(_variant(options, settings, drawn, kind, depth, folder))
    return variants


def _dense_alone(options: argparse.Namespace, settings: Settings) -> Variant:
    """Return the step without a table: what is left for reading ahead."""
    import tensorflow as tf

    model = _Model(options.dense, settings)
    rows = tf.random.normal([settings.samples, settings.fields * DIM])

    @tf.function  # type: ignore[untyped-decorator]
    def step(given: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(given)
            loss = model.loss(given)
        model.train(tape.gradient(loss, [given, *model.weights])[1:])
        return loss

    return Variant(_DENSE, lambda given: float(step(given)), itertools.repeat(rows))


def _variant(
    options: argparse.Namespace, settings: Settings, drawn: Ids, kind: str, depth: int, folder: Path
) -> Variant:
    """Return a table that has all keys already, and its step."""
    import tensorflow as tf

    import runtime
    from runtime.optimizers import adagrad
    from runtime.storage import Storage, tier_status

    size = int(settings.keys * options.memory * ROW_BYTES)
    storage = None if kind == "dram" else Storage(kind, folder, [size], options.policy)
    initializer = tf.compat.v1.random_normal_initializer(stddev=0.01, seed=1)
    table = runtime.create_table(tf.int64, DIM, "cold", initializer, storage=storage)
    optimizer = adagrad.create_hash_optimizer(0.1)
    model = _Model(options.dense, settings)

    @tf.function(input_signature=[tf.TensorSpec([None, settings.fields], tf.int64)])  # type: ignore[untyped-decorator]
    def step(ids: Any) -> Any:
        with tf.GradientTape() as tape:
            rows = runtime.sparse_lookup(table, ids)
            loss = model.loss(tf.reshape(rows, [-1, settings.fields * DIM]))
        gradient, *dense = tape.gradient(loss, [table.variable, *model.weights])
        optimizer.apply_gradients([(gradient, table.variable)])
        model.train(dense)
        return loss

    order = np.random.Generator(np.random.PCG64(options.seed)).permutation(settings.keys).astype(np.int64)
    for begin in range(0, settings.keys, settings.ids_per_batch):
        runtime.sparse_lookup(table, order[begin : begin + settings.ids_per_batch])
    table.drain()
    dataset = tf.data.Dataset.range(len(drawn)).map(
        lambda number: tf.ensure_shape(
            tf.numpy_function(lambda i: drawn[i], [number], tf.int64), [settings.samples, settings.fields]
        )
    )
    if depth:
        dataset = dataset.map(lambda ids: runtime.prefetch(table, ids))
    name = kind + (f", {depth} ahead" if depth else "")
    batches = iter(dataset.prefetch(max(1, depth)))
    return Variant(name, lambda ids: float(step(ids)), batches, lambda: tier_status(table.tier_status()))


class _Model:
    """Layers with ReLU over the rows of a sample, trained by SGD; none: the sum of squares of the rows."""

    def __init__(self, widths: Sequence[int], settings: Settings) -> None:
        import tensorflow as tf

        self._tf = tf
        sizes = [settings.fields * DIM, *widths, 1] if widths else []
        self.weights = [
            tf.Variable(tf.random.stateless_normal(size, [1, number]) / size[0] ** 0.5)
            for number, size in enumerate(itertools.pairwise(sizes))
        ]

    def loss(self, rows: Any) -> Any:
        """Return a scalar."""
        hidden = rows
        for number, weights in enumerate(self.weights):
            hidden = (self._tf.nn.relu(hidden) if number else hidden) @ weights
        return self._tf.reduce_sum(hidden * hidden)

    def train(self, gradients: Sequence[Any]) -> None:
        """Make a step."""
        for weights, gradient in zip(self.weights, gradients, strict=True):
            weights.assign_sub(1e-6 * gradient)


def _report(options: argparse.Namespace, variants: Sequence[Variant], steps: int) -> str:
    about = machine()
    base = next(one for one in variants if one.name == "dram")
    head = ["variant", "step ms", "p99 ÷ median", "dram ÷ this", "found below", "read ahead in time", "read in vain"]
    rows: list[list[float | str | None]] = []
    for one in variants:
        median = statistics.median(one.times)
        below = [(old, new) for old, new in zip(one.before, one.status(), strict=True)]
        found = sum(new.found - old.found for old, new in below[1:]) / steps
        ahead = sum(new.prefetched - old.prefetched for old, new in below[1:]) / steps
        vain = sum(new.prefetched_unused - old.prefetched_unused for old, new in below[:1]) / steps
        tail = float(np.percentile(one.times, 99)) / median
        reads: list[float | None] = [found, ahead / found, vain] if found else [None, None, None]
        rows.append([one.name, median, tail, statistics.median(base.times) / median, *reads])
    dense = f"layers {'-'.join(map(str, options.dense))}-1, SGD" if options.dense else "no layers"
    return (
        f"{about['processor']}, {about['cores']} cores · {about['memory_gib']} GiB · {about['system']}\n\n"
        f"{options.samples} samples x 26 {options.ids} ids of {options.keys:,} keys, dim {DIM}, Adagrad, {dense}, "
        f"memory for {options.memory:.0%} of the rows, {options.policy}, {options.turns} turns of {options.steps} "
        "steps of which the first quarter is not counted; numbers for a step\n\n" + markdown_table(head, rows)
    )


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parsing = argparse.ArgumentParser(
        prog="python -m benchmarks.storage.prefetch", description="Time steps that read ahead."
    )
    add = parsing.add_argument
    add("--kinds", default="dram_ssdhash", help="kinds of storage, compared with memory alone")
    add("--keys", type=positive, default=1_000_000, help="rows of the table (default 1,000,000)")
    add("--memory", type=float, default=0.1, help="part of the rows that the first tier holds (default 0.1)")
    add("--prefetch", type=positives, default=[2], metavar="N,M", help="batches that come ahead (default 2)")
    add("--dense", type=_widths, default=[512, 256], metavar="N,M", help="widths of layers, or 0 (default 512,256)")
    add("--turns", type=positive, default=12, help="turns of each variant (default 12)")
    add("--steps", type=positive, default=12, help="steps of a turn (default 12)")
    add("--samples", type=positive, default=4096, help="samples of a batch (default 4096)")
    add("--threads", type=positive, default=2, help="threads of one op (default 2)")
    add("--seed", type=int, default=0, help="seed of the batches (default 0)")
    add("--ids", choices=KINDS, default="zipf", help="how ids are drawn (default zipf)")
    add("--policy", choices=("lfu", "lru"), default="lfu", help="which rows go down first (default lfu)")
    add("--folder", help="where rows go that are not in memory (default: a temporary folder)")
    return parsing.parse_args(given)


def _widths(text: str) -> list[int]:
    return [] if text == "0" else positives(text)


if __name__ == "__main__":
    sys.exit(main())
