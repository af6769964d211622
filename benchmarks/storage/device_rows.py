"""A model's step on rows of the host, on rows of a device, and on a stock variable of that device.

python -m benchmarks.storage.device_rows --device /gpu:0 [--rows 200000] [--keys 2000000] [--dim 16,64] [--json FILE]

Begins with a check: a small model with rows on the device, most of which move in and out, against rows of memory
alone. Then all variants train by turns in one process, with dense layers on the device, and the first quarter of the
turns is not counted. Ids are fed; a variable has `keys` rows, and the ids are its row numbers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import KINDS, BenchmarkError, Ids, Settings, draw, machine, markdown_table
from benchmarks.options import positive, positives

WARM_UP = 0.25  # of the turns: what is used comes to the device
_UNCOUNTED = 1  # steps of each turn
_TOLERANCE = 1e-4  # of losses on a GPU, where gradients of equal ids are summed in no certain order


@dataclass
class Variant:
    """One model in a session of its own; times in milliseconds."""

    name: str
    session: Any
    ids: Any
    run: list[Any]  # loss, training
    status: Any = None
    times: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    before: Any = None

    def step(self, batch: Ids) -> float:
        """Train on a batch; return the loss."""
        return float(self.session.run(self.run, {self.ids: batch})[0])

    def turn(self, batches: Ids, counts: bool) -> None:
        """Train on some batches."""
        if counts and self.before is None and self.status is not None:
            self.before = self.session.run(self.status)
        for number, batch in enumerate(batches):
            start = time.perf_counter()
            self.losses.append(self.step(batch))
            if counts and number >= _UNCOUNTED:
                self.times.append((time.perf_counter() - start) * 1e3)

    def moved(self) -> list[float]:
        """Return the part of distinct ids that lay on the device, and rows that came and left in a counted step."""
        if self.status is None:
            return [float("nan")] * 3
        found, came, left = (self.session.run(self.status) - self.before)[2:]
        steps = len(self.losses) * (1 - WARM_UP)
        return [found / max(found + came, 1), came / steps, left / steps]


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 1 when rows on the device computed something else."""
    options = _arguments(given)
    try:
        return _run_placed(options)
    except BenchmarkError as error:
        print(f"device_rows: {error}", file=sys.stderr)
        return 2


def _run_placed(options: argparse.Namespace) -> int:
    """Run with every op where it is to be; if TensorFlow has no kernel there, say so and let it choose."""
    import tensorflow as tf

    tf.compat.v1.disable_eager_execution()
    try:
        return _run(options)
    except tf.errors.InvalidArgumentError as error:
        if options.soft or "Cannot assign a device" not in str(error):
            raise
        print(f"an op has no kernel for {options.device}, TensorFlow chooses its device: {str(error)[:400]}\n")
    options.soft = True
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    import tensorflow as tf

    kind = tf.DeviceSpec.from_string(options.device).device_type
    if kind not in {device.device_type for device in tf.config.list_physical_devices()}:
        raise BenchmarkError(f"TensorFlow sees no device {options.device}: check the driver, or give --device /cpu:0")
    check = _checked(options)
    print(f"check: losses of rows on {options.device} and of the host differ by {check:.2g} at most (relative)\n")
    sections = [_measured(options, dim) for dim in options.dim]
    if options.json:
        about = {"machine": machine(), "tensorflow": tf.__version__, "device": _described(tf)}
        settings = {name: str(value) for name, value in vars(options).items()}
        content = {**about, "settings": settings, "check": check, "sections": sections}
        options.json.write_text(json.dumps(content, indent=1))
    return 0 if check <= (0.0 if kind == "CPU" else _TOLERANCE) else 1


def _described(tf: Any) -> str:
    found = tf.config.list_physical_devices("GPU")
    return str(tf.config.experimental.get_device_details(found[0])) if found else "CPU"


def _checked(options: argparse.Namespace) -> float:
    """Return the largest relative difference of losses, for each optimizer and policy, 40 rows of 400 on the device."""
    settings = Settings(samples=16, fields=2, keys=400, dim=8)
    batches = draw("zipf", 60, settings, 3)
    worst = 0.0
    for optimizer in ("sgd", "adagrad", "lazy_adam"):
        host = _variant("host", options, settings, optimizer=optimizer)
        for policy in ("lru", "lfu"):
            device = _variant(policy, options, settings, optimizer=optimizer, rows=40, policy=policy)
            for batch in batches:
                one, other = (
                    host.step(batch) if policy == "lru" else host.losses[len(device.losses)],
                    device.step(batch),
                )
                if policy == "lru":
                    host.losses.append(one)
                device.losses.append(other)
                worst = max(worst, abs(one - other) / max(abs(one), 1e-6))
            device.session.close()
        host.session.close()
    return worst


def _measured(options: argparse.Namespace, dim: int) -> dict[str, Any]:
    settings = Settings(samples=options.samples, fields=options.fields, keys=options.keys, dim=dim)
    variants = [_variant("rows of the host", options, settings)]
    for rows in options.rows:
        variants.append(_variant(f"{rows:,} rows on the device", options, settings, rows=rows, policy=options.policy))
    variants.append(_variant(f"a variable of {options.keys:,} rows on the device", options, settings, stock=True))
    warm = max(1, int(options.turns * WARM_UP))
    for turn in range(options.turns):
        batches = draw(options.ids, options.steps, settings, options.seed + 1 + turn, scatter=True)
        for one in variants:
            one.turn(batches, turn >= warm)
    result = [_line(one, variants[0]) for one in variants]
    head = ["rows", "step ms", "p99 ÷ median", "steps a second", "host ÷ this", "on the device", "came", "left"]
    print(
        f"dim {dim}, {settings.samples} samples x {settings.fields} {options.ids} ids of {options.keys:,} keys, "
        f"Adagrad, {options.policy}, layers {options.dense} on {options.device}\n\n" + markdown_table(head, result)
    )
    print()
    for one in variants:
        one.session.close()
    return {"dim": dim, "head": head, "lines": result, "times": {one.name: one.times for one in variants}}


def _line(one: Variant, base: Variant) -> list[Any]:
    median = statistics.median(one.times)
    moved = [None if np.isnan(value) else value for value in one.moved()]
    tail = float(np.percentile(one.times, 99)) / median
    return [one.name, median, tail, 1e3 / median, statistics.median(base.times) / median, *moved]


def _variant(
    name: str,
    options: argparse.Namespace,
    settings: Settings,
    rows: int = 0,
    policy: str = "lfu",
    optimizer: str = "adagrad",
    stock: bool = False,
) -> Variant:
    """Build a model in a graph of its own; with `rows`, so many lie on the device."""
    import tensorflow as tf

    v1: Any = tf.compat.v1
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/cpu:0"):
            ids = v1.placeholder(tf.int64, [None, settings.fields])
        table, embedded, trained = _embedded(options, settings, ids, rows, policy, optimizer, stock)
        with tf.device(options.device):
            loss, weights = _loss(tf, embedded, options.dense if settings.samples > 16 else [], settings)
        gradients = tf.gradients(loss, [trained, *weights])
        updates = [_update(optimizer, stock).apply_gradients([(gradients[0], trained)])]
        with tf.device(options.device):
            for weight, gradient in zip(weights, gradients[1:], strict=True):
                updates.append(weight.assign_sub(1e-6 * gradient, read_value=False))
        run = [loss, tf.group(*updates)]
        status = None
        if rows:
            with tf.device("/cpu:0"):
                status = table.device_status()
        initializer = v1.global_variables_initializer()
    config = v1.ConfigProto(allow_soft_placement=options.soft)
    config.gpu_options.allow_growth = True
    session = v1.Session(graph=graph, config=config)
    session.run(initializer)
    return Variant(name, session, ids, run, status)


def _embedded(
    options: argparse.Namespace, settings: Settings, ids: Any, rows: int, policy: str, optimizer: str, stock: bool
) -> tuple[Any, Any, Any]:
    """Return the table or None, the rows of the ids on the device, and what gradients are for."""
    import tensorflow as tf

    import runtime

    initializer = tf.compat.v1.random_normal_initializer(stddev=0.01, seed=1)
    if stock:
        with tf.device(options.device):
            variable = tf.compat.v1.Variable(
                lambda: initializer([settings.keys, settings.dim]), use_resource=True, name="stock"
            )
            return None, tf.gather(variable, ids), variable
    table = runtime.create_table(
        tf.int64,
        settings.dim,
        "table",
        initializer,
        device_vocabulary_size=rows or settings.keys,
        device=runtime.Device(options.device, policy) if rows else None,
    )
    return table, runtime.sparse_lookup(table, ids), table.variable


def _update(optimizer: str, stock: bool) -> Any:
    import tensorflow as tf

    from runtime.optimizers import adagrad, gradient_descent, lazy_adam

    if stock:
        return tf.compat.v1.train.AdagradOptimizer(0.01)
    if optimizer == "sgd":
        return gradient_descent.create_hash_optimizer(0.01)
    if optimizer == "lazy_adam":
        return lazy_adam.create_hash_optimizer(0.001)
    return adagrad.create_hash_optimizer(0.01, initial_accumulator_value=0.1)


def _loss(tf: Any, embedded: Any, widths: Sequence[int], settings: Settings) -> tuple[Any, list[Any]]:
    """Return the loss of layers with ReLU over the rows of a sample, and their weights."""
    hidden = tf.reshape(embedded, [-1, settings.fields * settings.dim])
    weights = []
    sizes = [settings.fields * settings.dim, *widths, 1] if widths else []
    for number in range(len(sizes) - 1):
        start = tf.random.stateless_normal(sizes[number : number + 2], [1, number]) / sizes[number] ** 0.5
        weights.append(tf.compat.v1.Variable(start, use_resource=True, name=f"layer{number}"))
        hidden = (tf.nn.relu(hidden) if number else hidden) @ weights[-1]
    return tf.reduce_mean(tf.square(hidden - 1.0)), weights


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parsing = argparse.ArgumentParser(prog="python -m benchmarks.storage.device_rows", description=(__doc__ or "")[:79])
    add = parsing.add_argument
    add("--device", default="/gpu:0", help="of the rows and layers (default /gpu:0)")
    add("--rows", type=positives, default=[200_000], metavar="N,M", help="rows on the device (default 200,000)")
    add("--keys", type=positive, default=2_000_000, help="ids (default 2,000,000)")
    add("--dim", type=positives, default=[16], metavar="N,M", help="widths of a row (default 16)")
    add("--policy", choices=("lfu", "lru"), default="lfu", help="which rows make way first (default lfu)")
    add("--dense", type=positives, default=[512, 256], metavar="N,M", help="widths of layers (default 512,256)")
    add("--turns", type=positive, default=8, help="turns of each variant (default 8)")
    add("--steps", type=positive, default=20, help="steps of a turn (default 20)")
    add("--samples", type=positive, default=4096, help="samples of a batch (default 4096)")
    add("--fields", type=positive, default=26, help="ids of a sample (default 26)")
    add("--ids", choices=KINDS, default="zipf", help="how ids are drawn (default zipf)")
    add("--seed", type=int, default=0, help="seed of the batches (default 0)")
    add("--soft", action="store_true", help="let TensorFlow choose the device of ops without a kernel there")
    add("--json", type=Path, metavar="FILE", help="write all numbers to FILE")
    return parsing.parse_args(given)


if __name__ == "__main__":
    sys.exit(main())
