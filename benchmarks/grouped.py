"""Many small tables: one grouped lookup and update of all, against a lookup and an update of each.

python -m benchmarks.grouped [--ranks 1] [--tables 100] [--samples 64] [--dim 8] [--threads 2] [--steps 200]

With several ranks, each has a batch of its own, and the tables are shared; the ranks are started as processes. The loss
is the sum of squares of all rows, the optimizer Adagrad. All ways run in turns, on the same batches; their losses must
agree. "cpu ms" is the processor's time of a step, of all threads, in the best turn: on a machine that others use, too,
it says more than the time that passed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

import runtime
from benchmarks.common import INITIAL_VALUE, BenchmarkError, Summary, machine, markdown_table
from benchmarks.options import positive
from runtime import ranks
from runtime.optimizers import adagrad

v1: Any = tf.compat.v1
Step = Callable[[NDArray[np.int64]], float]

RATE, ACCUMULATOR, TURNS = 0.01, 0.1, 10
TOLERANCE = 1e-4


class Tables:
    """The tables of one way, and how they are trained."""

    def __init__(self, options: argparse.Namespace, name: str) -> None:
        first = v1.constant_initializer(INITIAL_VALUE)
        self.tables = [
            runtime.create_table(tf.int64, options.dim, f"{name}{i}", first, options.keys)
            for i in range(options.tables)
        ]
        self.variables = [table.variable for table in self.tables]
        self.optimizer = adagrad.create_hash_optimizer(RATE, ACCUMULATOR)

    def grouped(self, ids: list[tf.Tensor]) -> list[tf.Tensor]:
        """One lookup of all."""
        return runtime.grouped_lookup(list(zip(self.tables, ids, strict=True)))

    def single(self, ids: list[tf.Tensor]) -> list[tf.Tensor]:
        """A lookup of each."""
        return [runtime.sparse_lookup(table, one) for table, one in zip(self.tables, ids, strict=True)]

    def update(self, gradients: Sequence[Any]) -> Any:
        """One update of all, as apply_gradients makes it."""
        return self.optimizer.apply_gradients(zip(gradients, self.variables, strict=True))

    def update_each(self, gradients: Sequence[Any]) -> Any:
        """An update of each."""
        return tf.group(
            *[self.optimizer.apply_gradients([pair]) for pair in zip(gradients, self.variables, strict=True)]
        )


class Variables(Tables):
    """The same in variables of TensorFlow."""

    def __init__(self, options: argparse.Namespace, name: str) -> None:
        self.variables = [
            v1.Variable(tf.fill([options.keys, options.dim], INITIAL_VALUE), use_resource=True, name=f"{name}{i}")
            for i in range(options.tables)
        ]
        self.optimizer = v1.train.AdagradOptimizer(RATE, ACCUMULATOR)

    def single(self, ids: list[tf.Tensor]) -> list[tf.Tensor]:
        return [tf.nn.embedding_lookup(one, own) for one, own in zip(self.variables, ids, strict=True)]


def loss_of(rows: Sequence[tf.Tensor]) -> tf.Tensor:
    """One op for all rows, so that the loss costs every way the same."""
    return tf.nn.l2_loss(tf.concat(rows, 0))


#: What each way looks up with and updates with; "separate" is a lookup op and an update op of each table.
WAYS: dict[str, tuple[type[Tables], str, str]] = {
    "grouped": (Tables, "grouped", "update"),
    "separate": (Tables, "single", "update_each"),
    "separate lookups, one update": (Tables, "single", "update"),
    "stock variables": (Variables, "single", "update"),
}


def in_function(way: str, options: argparse.Namespace, trains: bool) -> Step:
    """Return the step as a tf.function."""
    signature = [tf.TensorSpec([options.tables, options.samples], tf.int64)]
    step = tf.function(eager_step(way, options, trains, "f"), input_signature=signature)
    return lambda batch: float(step(tf.constant(batch)))


def eagerly(way: str, options: argparse.Namespace, trains: bool) -> Step:
    """Return the step as it is run op by op."""
    step = eager_step(way, options, trains, "e")
    return lambda batch: float(step(tf.constant(batch)))


def eager_step(way: str, options: argparse.Namespace, trains: bool, name: str) -> Callable[[tf.Tensor], tf.Tensor]:
    """Return the step for a batch, of new tables."""
    kind, look_up, update = WAYS[way]
    made = kind(options, name)

    def step(batch: tf.Tensor) -> tf.Tensor:
        ids = tf.unstack(batch)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(made.variables)
            loss = loss_of(getattr(made, look_up)(ids))
        if trains:
            getattr(made, update)(tape.gradient(loss, made.variables))
        return loss

    return step


def in_session(way: str, options: argparse.Namespace, trains: bool) -> Step:
    """Return the step as a run of a v1 session."""
    kind, look_up, update = WAYS[way]
    with tf.Graph().as_default():
        made = kind(options, "s")
        batch = v1.placeholder(tf.int64, [options.tables, options.samples])
        loss = loss_of(getattr(made, look_up)(tf.unstack(batch)))
        fetches = [loss, getattr(made, update)(tf.gradients(loss, made.variables))] if trains else [loss]
        config = v1.ConfigProto(
            intra_op_parallelism_threads=options.threads, inter_op_parallelism_threads=options.threads
        )
        session = v1.Session(config=config)
        session.run(v1.global_variables_initializer())
    run = session.make_callable(fetches, [batch])
    return lambda ids: float(run(ids)[0])


WHAT = {"forward": False, "step": True}
MODES = {"eager": eagerly, "tf.function": in_function, "v1 session": in_session}


@dataclass(frozen=True)
class Timed:
    """How long the steps of one way took, and the processor's time of a step in the best turn, in milliseconds."""

    passed: Summary
    processor: float


def measure(mode: str, trains: bool, options: argparse.Namespace) -> dict[str, Timed]:
    """Time every way in turns; they compute the same losses.

    Raises:
        BenchmarkError: one computes something else.
    """
    # A rank has a batch of its own, which variables of another process do not see.
    ways = [way for way, (kind, *_) in WAYS.items() if ranks.size() == 1 or kind is Tables]
    steps = {way: MODES[mode](way, options, trains) for way in ways}
    random = np.random.default_rng(options.seed + ranks.rank())
    batches = random.integers(0, options.keys, (options.steps // TURNS, options.tables, options.samples))
    times: dict[str, list[float]] = {way: [] for way in steps}
    processor: dict[str, list[float]] = {way: [] for way in steps}
    losses: dict[str, list[float]] = {way: [] for way in steps}
    for turn in range(TURNS + 1):  # the first warms up
        for way in steps if turn % 2 else reversed(list(steps)):
            used = time.process_time()
            for batch in batches:
                begun = time.perf_counter()
                losses[way].append(steps[way](batch))
                if turn:
                    times[way].append((time.perf_counter() - begun) * 1e3)
            if turn:
                processor[way].append((time.process_time() - used) * 1e3 / len(batches))
    first = np.array(losses[ways[-1]])
    for way, found in losses.items():
        apart = float(np.max(np.abs(np.array(found) - first) / first))
        if not apart < TOLERANCE:
            raise BenchmarkError(
                f"the losses of `{way}` in a {mode} are {apart:.1g} apart from those of stock variables"
            )
    return {way: Timed(Summary.of(found), min(processor[way])) for way, found in times.items()}


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grouped", description=__doc__.split("\n\n")[0])
    parser.add_argument("--ranks", type=positive, default=1, help="processes that share the tables (default 1)")
    parser.add_argument("--tables", type=positive, default=100)
    parser.add_argument("--samples", type=positive, default=64, help="ids of each table in a batch (default 64)")
    parser.add_argument("--keys", type=positive, default=1000, help="of each table (default 1000)")
    parser.add_argument("--dim", type=positive, default=8)
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--steps", type=positive, default=200, help="timed steps of each way (default 200)")
    parser.add_argument("--what", choices=[*WHAT, "both"], default="both", help="what to time (default both)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--markdown", action="store_true", help="print a section for RESULTS.md")
    return parser.parse_args(given)


def report(options: argparse.Namespace, found: dict[tuple[str, bool], dict[str, Timed]]) -> str:
    """Return the table, and where asked for the heading of a section."""
    rows: list[list[float | str | None]] = [
        [
            *(mode, "step" if trains else "forward", way, one.passed.median, one.passed.smallest, one.processor),
            one.passed.median / ways["grouped"].passed.median,
        ]
        for (mode, trains), ways in found.items()
        for way, one in ways.items()
    ]
    body = markdown_table(("mode", "what", "way", "median ms", "min ms", "cpu ms", "this ÷ grouped"), rows)
    if not options.markdown:
        return body
    host = machine()
    where = f"{host['processor']}, {host['cores']} cores · TensorFlow {tf.__version__}, {options.threads} threads"
    what = f"{options.samples} ids of {options.keys} keys a table, dim {options.dim}, Adagrad"
    how = f"{options.steps} steps of each way in {TURNS} turns; ranks: {options.ranks}"
    return f"## Grouped lookup of {options.tables} small tables\n\n{where} · {what}; {how}\n\n{body}"


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 2 when a way computed something else."""
    options = arguments(given)
    if options.ranks > 1 and "TF_CONFIG" not in os.environ:
        return launched(options.ranks, sys.argv[1:] if given is None else given)
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(options.threads)
    ranks.start()
    modes = ["tf.function"] if options.ranks > 1 else list(MODES)
    try:
        timed = [trains for what, trains in WHAT.items() if options.what in (what, "both")]
        found = {(mode, trains): measure(mode, trains, options) for mode in modes for trains in timed}
    except BenchmarkError as error:
        print(f"grouped: {error}", file=sys.stderr)
        return 2
    if ranks.rank() == 0:
        print(report(options, found), end="")
    return 0


def launched(count: int, given: Sequence[str]) -> int:
    """Run this program as so many ranks; what rank 0 prints has its number in front."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-m", "runtime.launch", "-n", str(count), __file__, *given]
    return subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
