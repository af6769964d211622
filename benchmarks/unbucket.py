"""What giving up buckets is worth: AUC of a model bucketed throughout, free from the start, and freed half way.

Words of users and items are hashed into so many buckets that a tenth, half, or nine tenths of them share one. The truth
is known: labels are drawn from the product of latent vectors of the words. `python -m benchmarks.unbucket`.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import rewriter
import runtime

v1 = tf.compat.v1
#: Users and items, and by the share of words with another one in their bucket: buckets for each word.
USERS, ITEMS = 20_000, 4_000
SHARING = {"10 %": 1 / 0.105, "50 %": 1 / 0.693, "90 %": 1 / 2.303}
DIM, BATCH, HELD_OUT = 8, 1024, 40_000
WAYS = ("bucketed", "freed half way", "free")


class World:
    """Words with latent vectors, and labels drawn from them."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._latent = [self._random.normal(size=[size, 3]) for size in (USERS, ITEMS)]
        self.held_out = self.batch(HELD_OUT)

    def batch(self, size: int) -> tuple[Any, Any, Any]:
        """Return words of users and of items, and labels; some words are more frequent than others."""
        numbers = [np.minimum(self._random.zipf(1.2, size) * 7919 % most, most - 1) for most in (USERS, ITEMS)]
        users, items = (latent[number] for latent, number in zip(self._latent, numbers, strict=True))
        chance = 1 / (1 + np.exp(-(users * items).sum(1)))
        labels = (self._random.random(size) < chance).astype(np.float32)
        words = [np.char.add(prefix, number.astype(str)) for prefix, number in zip("ui", numbers, strict=True)]
        return words[0], words[1], labels


class Model:
    """A factorization of hashed users and items, in a graph and session of its own."""

    def __init__(self, buckets: float, unbucket: bool) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            v1.set_random_seed(1)
            self.fed = [v1.placeholder(kind, [None]) for kind in (tf.string, tf.string, tf.float32)]
            sizes = (("u", USERS), ("i", ITEMS))
            rows = [
                self._rows(name, words, size, buckets) for (name, size), words in zip(sizes, self.fed, strict=False)
            ]
            self.score = tf.reduce_sum(rows[0] * rows[1], 1)
            loss = tf.nn.sigmoid_cross_entropy_with_logits(self.fed[2], self.score)
            self.step = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_mean(loss) * 64)
            self.saver, begin = v1.train.Saver(), v1.global_variables_initializer()
            rewriter.rewrite(self.graph, settings={"*": {"unbucket": unbucket}})
            self.session = v1.Session()
            self.session.run(begin)

    def _rows(self, name: str, words: Any, size: int, buckets: float) -> Any:
        number = round(size * buckets)
        initial = v1.random_normal_initializer(stddev=0.3)
        table = v1.get_variable(name, [number, DIM], initializer=initial, use_resource=False)
        return tf.nn.embedding_lookup(table, tf.strings.to_hash_bucket_fast(words, number))

    def saved(self, path: str) -> str:
        with self.graph.as_default():
            return str(self.saver.save(self.session, path))

    def restore(self, path: str) -> None:
        with self.graph.as_default():
            self.saver.restore(self.session, path)

    def rows(self) -> int:
        """Return how many words have rows of their own."""
        with self.graph.as_default():
            return int(sum(self.session.run([table.size() for table in runtime.tables()])))

    def feed(self, batch: Any) -> dict[Any, Any]:
        return dict(zip(self.fed, batch, strict=True))

    def auc(self, batch: Any) -> float:
        scores, labels = self.session.run(self.score, self.feed(batch)), batch[2]
        ranks = np.empty(len(scores))
        ranks[np.argsort(scores)] = np.arange(1, len(scores) + 1)
        ones = labels.sum()
        return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


@dataclass
class Run:
    """What was measured of one way."""

    model: Model
    curve: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def compared(buckets: float, steps: int, folder: Path) -> dict[str, Run]:
    """Train the three ways by turns on the same batches; the second becomes free at half of the steps."""
    world = World(3)
    runs = {way: Run(Model(buckets, way == "free")) for way in WAYS}
    for step in range(steps):
        if step == steps // 2:
            path = runs[WAYS[1]].model.saved(str(folder / "half"))
            runs[WAYS[1]].model = Model(buckets, unbucket=True)
            runs[WAYS[1]].model.restore(path)
        batch = world.batch(BATCH)
        for run in runs.values():
            fed, began = run.model.feed(batch), time.perf_counter()
            run.model.session.run(run.model.step, fed)
            run.seconds.append(time.perf_counter() - began)
            if (step + 1) % (steps // 8) == 0:
                run.curve.append(run.model.auc(world.held_out))
    return runs


def main() -> None:
    """Print a table for each share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4000)
    steps = parser.parse_args().steps
    print(f"AUC after each eighth of {steps} steps of {BATCH}; {USERS + ITEMS} words; rows; step ÷ bucketed\n")
    for share, buckets in SHARING.items():
        with tempfile.TemporaryDirectory() as folder:
            runs = compared(buckets, steps, Path(folder))
        base = statistics.median(runs[WAYS[0]].seconds[steps // 2 :])
        print(f"| {share} share | " + " | ".join(f"{number}/8" for number in range(1, 9)) + " | rows | step |")
        print("|---" * 11 + "|")
        for way, run in runs.items():
            ratio = statistics.median(run.seconds[steps // 2 :]) / base
            print(
                f"| {way} | "
                + " | ".join(f"{one:.4f}" for one in run.curve)
                + f" | {run.model.rows():,} | {ratio:.2f} |"
            )
        print()


if __name__ == "__main__":
    main()
