"""Steps of whole models: variables of stock TensorFlow beside the same graph, moved to tables by the rewriter.

python -m benchmarks.models [--models dlrm,wide-deep,din] [--dim 16,64] [--optimizer adagrad] [--steps 60] [--markdown]

All ways of a model train by turns on the same batches in one process; the losses of stock and moved must agree. The
third way is the model without its embeddings: what no table can make faster. Processor time counts all threads.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from benchmarks.common import BenchmarkError, Summary, machine, markdown_table
from benchmarks.models.architectures import MODELS, Batch, LookUp, Model, Sizes
from benchmarks.options import positive, positives
from rewriter import rewrite

OPTIMIZERS = {
    "adagrad": lambda: tf.train.AdagradOptimizer(0.01),
    "adam": lambda: tf.train.AdamOptimizer(0.0001),
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.01),
}
STOCK, MOVED, LAYERS = "stock", "moved", "layers alone"
BATCHES, TURNS = 6, 10
TOLERANCE = 1e-3


@dataclass
class Way:
    """A session that trains a model, and what its steps took."""

    run: Any
    session: tf.Session
    tables: list[Any]
    losses: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def step(self, batch: Batch, timed: bool) -> None:
        """Train on a batch."""
        begun, spent = time.perf_counter(), time.process_time()
        self.losses.append(float(self.run(*batch.values())[0]))
        if timed:
            self.wall.append((time.perf_counter() - begun) * 1e3)
            self.processor.append((time.process_time() - spent) * 1e3)

    def rows(self) -> int:
        """The rows of all tables."""
        with self.session.graph.as_default():
            return sum(int(self.session.run(table.size())) for table in self.tables)


def in_variables(name: str, keys: int, dim: int, ids: tf.Tensor) -> tf.Tensor:
    """Rows of a variable, as programs without tables look them up."""
    with tf.variable_scope("embedding", reuse=tf.AUTO_REUSE):
        table = tf.get_variable(name, [keys, dim], initializer=tf.random_uniform_initializer(-0.05, 0.05))
    return tf.nn.embedding_lookup(table, ids)


def resident(name: str, _keys: int, dim: int, ids: tf.Tensor) -> tf.Tensor:
    """Rows that are there already and are not trained, in the shape of a lookup."""
    del name
    return tf.Variable(tf.random_uniform([*ids.shape, dim], -0.05, 0.05), trainable=False, use_resource=True).value()


def build(model: Model, sizes: Sizes, options: argparse.Namespace, way: str, like: Batch) -> Way:
    """Build a model in a graph of its own and start its session.

    Raises:
        BenchmarkError: the rewriter left a table as it was.
    """
    look_up: LookUp = resident if way == LAYERS else in_variables
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(options.seed)
        batch = {name: tf.placeholder(value.dtype, value.shape, name) for name, value in like.items()}
        loss = model.loss(batch, sizes, look_up)
        train = OPTIMIZERS[options.optimizer]().minimize(loss)
        tables = []
        if way == MOVED:
            plan = rewrite(graph)
            left = [one.table for one in plan.refusals if one.table.startswith("embedding/")]
            if left:
                raise BenchmarkError(f"the rewriter left `{left[0]}` of {model.name}: {plan.refusals[0]}")
            from runtime.table.create import tables as tables_of

            tables = list(tables_of(graph))
        start = tf.global_variables_initializer()
    config = tf.ConfigProto(intra_op_parallelism_threads=options.threads, inter_op_parallelism_threads=options.threads)
    session = tf.Session(graph=graph, config=config)
    session.run(start)
    fetches = [loss, train] if options.what == "step" else [loss]
    return Way(session.make_callable(fetches, list(batch.values())), session, tables)


def measure(model: Model, sizes: Sizes, options: argparse.Namespace) -> dict[str, Way]:
    """Train all ways of a model by turns.

    Raises:
        BenchmarkError: stock and moved variables have other losses.
    """
    random = np.random.default_rng(options.seed)
    batches = [model.draw(random, sizes) for _ in range(BATCHES)]
    ways = {way: build(model, sizes, options, way, batches[0]) for way in (STOCK, MOVED, LAYERS)}
    each = max(1, options.steps // TURNS)
    for turn in range(TURNS + 1):  # the first warms up
        for way in ways if turn % 2 else reversed(list(ways)):
            for number in range(each + 1):  # and so does the first step of each turn: another way has used the cache
                ways[way].step(batches[number % BATCHES], turn > 0 and number > 0)
    stock, moved = (np.array(ways[way].losses) for way in (STOCK, MOVED))
    apart = float(np.max(np.abs(stock - moved) / stock))
    if not apart < TOLERANCE:
        raise BenchmarkError(f"the losses of {model.name} in tables are {apart:.1g} apart from those in variables")
    return ways


def line(model: Model, sizes: Sizes, ways: dict[str, Way], ids: int) -> list[float | str | None]:
    """Return the row of a model: samples a second, and ratios of both times."""
    wall = {way: Summary.of(one.wall).median for way, one in ways.items()}
    processor = {way: Summary.of(one.processor).median for way, one in ways.items()}
    return [
        model.name,
        f"{sizes.dim}",
        f"{ids:,}",
        f"{ways[MOVED].rows():,}",
        *(f"{sizes.samples / wall[way] * 1e3:,.0f}" for way in (STOCK, MOVED, LAYERS)),
        *(times[STOCK] / times[way] for times in (wall, processor) for way in (MOVED, LAYERS)),
    ]


HEAD = (
    "model",
    "dim",
    "ids a step",
    "rows",
    "samples/s: stock",
    "moved",
    "layers alone",
    "wall: stock ÷ moved",
    "stock ÷ layers alone",
    "processor: stock ÷ moved",
    "stock ÷ layers alone",
)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description=__doc__.split("\n\n")[0])
    parser.add_argument("--models", default=",".join(MODELS), metavar="A,B", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--dim", type=positives, default=[16, 64], metavar="N,M", help="default 16,64")
    parser.add_argument("--keys", type=positive, default=100_000, help="of each field of Criteo (default 100,000)")
    parser.add_argument("--samples", type=positive, default=2048, help="of a batch; DIN has a quarter (default 2048)")
    parser.add_argument("--length", type=positive, default=100, help="of DIN's sequences (default 100)")
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="adagrad", help="default adagrad")
    parser.add_argument("--what", choices=["step", "forward"], default="step", help="what to time (default step)")
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--steps", type=positive, default=60, help="timed steps of each way (default 60)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", action="store_true", help="print a section for RESULTS.md")
    return parser.parse_args(given)


def report(options: argparse.Namespace, rows: Sequence[Sequence[float | str | None]]) -> str:
    """Return the table, and where asked for the heading of a section."""
    body = markdown_table(HEAD, rows)
    if not options.markdown:
        return body
    host = machine()
    where = f"{host['processor']}, {host['cores']} cores · TensorFlow {tf.__version__}, {options.threads} threads"
    what = f"{options.optimizer}, {options.samples} samples (DIN: {options.samples // 4}), {options.steps} steps"
    return f"## Whole models\n\n{where} · {what}\n\n{body}"


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 2 when a way computed something else."""
    options = arguments(given)
    tf.disable_eager_execution()
    rows = []
    try:
        for name in options.models.split(","):
            if name not in MODELS:
                raise BenchmarkError(f"unknown model `{name}`; known are {', '.join(MODELS)}")
            for dim in options.dim:
                samples = max(1, options.samples // 4) if name == "din" else options.samples
                sizes = Sizes(samples, options.keys, dim, options.length)
                print(f"{name}, dim {dim}", file=sys.stderr)
                ways = measure(MODELS[name], sizes, options)
                first = MODELS[name].draw(np.random.default_rng(options.seed), sizes)
                rows.append(line(MODELS[name], sizes, ways, sum(first[ids].size for ids in MODELS[name].ids)))
                for way in ways.values():
                    way.session.close()
    except BenchmarkError as error:
        print(f"models: {error}", file=sys.stderr)
        return 2
    print(report(options, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
