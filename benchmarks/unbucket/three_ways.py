"""One model bucketed throughout, free from the start, and freed half way, on the same batches."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import tensorflow as tf

import rewriter
import runtime
from benchmarks.unbucket.flights import Flights
from benchmarks.unbucket.world import Batch, World, auc, log_loss

v1 = tf.compat.v1
T = TypeVar("T")
WAYS = ("bucketed", "freed half way", "free from the start")
DIM, RATE = 8, 0.1
#: Points of a curve.
POINTS = 16


class Model:
    """A factorization of hashed words, in a graph and session of its own."""

    def __init__(self, world: World | Flights, buckets: float, unbucket: bool) -> None:
        """Build it with so many buckets for each word."""
        self._initial = v1.random_normal_initializer(stddev=world.spread)
        self.graph = tf.Graph()
        with self.graph.as_default():
            v1.set_random_seed(1)
            self.fed = [v1.placeholder(kind, [None]) for kind in [tf.string] * len(world.sizes) + [tf.float32]]
            rows = [
                self._rows(name, words, round(size * buckets))
                for name, size, words in zip(world.names, world.sizes, self.fed, strict=False)
            ]
            self.score = tf.add_n([tf.reduce_sum(one * other, 1) for one, other in combinations(rows, 2)])
            if world.linear:
                self.score += tf.add_n(rows)[:, 0]
            loss = tf.nn.sigmoid_cross_entropy_with_logits(self.fed[-1], self.score)
            self.step = v1.train.AdagradOptimizer(RATE).minimize(tf.reduce_mean(loss) * 64)
            self.saver, begin = v1.train.Saver(), v1.global_variables_initializer()
            rewriter.rewrite(self.graph, settings={"*": {"unbucket": unbucket}})
            self.session = v1.Session()
            self.session.run(begin)

    def _rows(self, name: str, words: Any, buckets: int) -> Any:
        table = v1.get_variable(name, [buckets, DIM], initializer=self._initial, use_resource=False)
        return tf.nn.embedding_lookup(table, tf.strings.to_hash_bucket_fast(words, buckets))

    def saved(self, path: str) -> str:
        """Write a checkpoint."""
        with self.graph.as_default():
            return str(self.saver.save(self.session, path))

    def restore(self, path: str) -> None:
        """Read one."""
        with self.graph.as_default():
            self.saver.restore(self.session, path)

    def rows(self) -> int:
        """Return how many words have rows of their own."""
        with self.graph.as_default():
            return int(sum(self.session.run([table.size() for table in runtime.tables()])))

    def feed(self, batch: Batch) -> dict[Any, Any]:
        """Return what a step is fed."""
        return dict(zip(self.fed, batch, strict=True))


@dataclass
class Run:
    """What was measured of one way."""

    model: Model
    auc: list[float] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0  #: of its tables, the base included

    def look(self, batch: Batch) -> None:
        """Add a point to the curves."""
        scores = self.model.session.run(self.model.score, self.model.feed(batch))
        self.auc.append(auc(scores, batch[-1]))
        self.loss.append(log_loss(scores, batch[-1]))

    def close(self) -> None:
        """Note the size, and let go of the model."""
        self.rows = self.model.rows()
        before = sum(table.bytes for table in runtime.status().tables)
        self.model.session.close()
        del self.model
        self.bytes = before - sum(table.bytes for table in runtime.status().tables)


def compared(world: World | Flights, buckets: float, steps: int, batch: int, folder: Path) -> dict[str, Run]:
    """Train the three ways by turns on the same batches; the second becomes free at half of the steps."""
    runs = {way: Run(Model(world, buckets, way == WAYS[-1])) for way in WAYS}
    for step in range(steps):
        if step == steps // 2:
            freed = runs[WAYS[1]]
            path = freed.model.saved(str(folder / "half"))
            freed.model.session.close()
            freed.model = Model(world, buckets, unbucket=True)
            freed.model.restore(path)
        samples = world.batch(batch)
        for run in in_turn([*runs.values()], step):
            fed, began = run.model.feed(samples), time.perf_counter()
            run.model.session.run(run.model.step, fed)
            run.seconds.append(time.perf_counter() - began)
            if (step + 1) % (steps // POINTS) == 0:
                run.look(world.held_out)
    for run in runs.values():
        run.close()
    return runs


def in_turn(several: Sequence[T], step: int) -> Sequence[T]:
    """Return them with another one first at each step: what runs first finds nothing of its own in the cache."""
    first = step % len(several)
    return [*several[first:], *several[:first]]


def undisturbed(seconds: Sequence[float]) -> float:
    """Return the time that a tenth of the steps stay below: what else the machine does makes others longer."""
    return statistics.quantiles(seconds, n=10)[0]


def step_ratio(run: Run, base: Run) -> float:
    """Return the undisturbed time of a step of the second half as a multiple of the other's."""
    ours, theirs = (undisturbed(one.seconds[len(one.seconds) // 2 :]) for one in (run, base))
    return ours / theirs
