"""A table that gave up its buckets, kept in memory in different ways: rows, memory, time of a step, AUC."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf

import runtime
from benchmarks.unbucket.three_ways import DIM, RATE, in_turn, undisturbed
from benchmarks.unbucket.world import Batch, World, auc
from runtime.optimizers import adagrad

v1 = tf.compat.v1
#: Steps without an occurrence after which a row is evicted, and how often that is looked for.
UNSEEN, EVERY = 200, 50
ADMITTED = 3
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Limit:
    """A way to keep a table small."""

    name: str
    #: Of `create_table`, from the bytes that the table takes without a limit, and a folder.
    options: Callable[[int, Path], Mapping[str, Any]] = lambda whole, folder: _NOTHING
    thresholds: Mapping[str, int] = field(default_factory=dict)
    keeps_buckets: bool = False
    begins_as_buckets: bool = True  #: else new rows begin with the initializer, which tells what the base costs


KEPT, FREE = Limit("buckets kept", keeps_buckets=True), Limit("free, no limit")
LIMITS = (
    Limit("free, without a base", begins_as_buckets=False),
    Limit(f"a row after {ADMITTED} occurrences", thresholds={"access_threshold": ADMITTED}),
    Limit(f"rows that {UNSEEN} steps did not use go", thresholds={"access_threshold": 0, "eviction_threshold": UNSEEN}),
    Limit("half of the bytes, `evict`", lambda whole, folder: {"max_bytes": whole // 2, "when_full": "evict"}),
    Limit(
        "half of the bytes, the rest on disk",
        lambda whole, folder: {"storage": runtime.Storage("dram_ssdhash", str(folder), [whole // 2])},
    ),
    Limit("values of two bytes", lambda whole, folder: {"value_dtype": tf.bfloat16}),
)


@dataclass(frozen=True)
class _Place:
    """Where a kind of words is looked up."""

    name: str
    words: Any
    buckets: int


class Model:
    """A factorization: by a row for each bucket, which trains first, and by tables whose new rows begin as these."""

    def __init__(self, limit: Limit, sizes: tuple[int, int], share: float, whole: Mapping[str, int], at: Path) -> None:
        """Build it with `share` buckets for each word; tables without a limit have `whole` bytes."""
        self.limit, self._tables = limit, list[runtime.Table]()
        self._seconds: dict[str, list[float]] = {"step": [], "evict": []}
        with tf.Graph().as_default() as graph:
            v1.set_random_seed(1)
            self._fed = [v1.placeholder(kind, [None]) for kind in (tf.string, tf.string, tf.float32)]
            self._trains, self._now = v1.placeholder(tf.bool, []), v1.placeholder(tf.int64, [])
            v1.add_to_collection("ASCEND_TIMESTAMP", self._now)
            places = [
                _Place(name, words, round(size * share))
                for name, size, words in zip("ui", sizes, self._fed, strict=False)
            ]
            self._score, self._step = self._trained([self._by_bucket(place) for place in places])
            self._free = None
            self._evicting: list[Any] = []  # once it is free
            if not limit.keeps_buckets:
                sources, self._tables = self._tables, []
                self._free = self._trained([self._by_word(place, whole, at) for place in places])
                self._begun = [runtime.set_base(*pair) for pair in zip(self._tables, sources, strict=True)]
            evicts = "eviction_threshold" in limit.thresholds
            self._unused = [runtime.evict_by_step(one, UNSEEN, self._now) for one in self._tables if evicts]
            self._sizes = [table.size() for table in self._tables]
            self._session = v1.Session(graph=graph)
            self._session.run(v1.global_variables_initializer())

    def _by_bucket(self, place: _Place) -> Any:
        return self._rows(f"{place.name}_buckets", tf.strings.to_hash_bucket_fast(place.words, place.buckets))

    def _by_word(self, place: _Place, whole: Mapping[str, int], at: Path) -> Any:
        wide = place.buckets * ((2**63 - 1) // place.buckets)
        options = self.limit.options(whole.get(place.name, 0), at)
        ids = tf.strings.to_hash_bucket_fast(place.words, wide)
        return self._rows(place.name, ids, self.limit.thresholds, base_buckets=place.buckets, **options)

    def _rows(self, name: str, ids: Any, thresholds: Mapping[str, int] = _NOTHING, **options: Any) -> Any:
        table = runtime.create_table(tf.int64, DIM, name, v1.random_normal_initializer(stddev=0.3), **options)
        self._tables.append(table)
        config = dict(thresholds) or None
        return runtime.sparse_lookup(table, ids, is_train=self._trains, access_and_evict_config=config)

    def _trained(self, rows: Any) -> tuple[Any, Any]:
        """Return the logits, and the step that trains their rows."""
        score = tf.reduce_sum(rows[0] * rows[1], 1)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(self._fed[2], score)) * 64
        _, anchors = runtime.get_dense_and_sparse_variable([self._tables])
        return score, adagrad.create_hash_optimizer(RATE, 0.1).minimize(loss, var_list=anchors)

    def free(self) -> None:
        """Give up the buckets: words begin as these, slots included."""
        if self._free is not None:
            self._session.run(self._begun if self.limit.begins_as_buckets else [])
            self._score, self._step = self._free
            self._evicting = self._unused
        self._seconds["step"].clear()

    def _feed(self, batch: Batch, step: int, trains: bool) -> dict[Any, Any]:
        return {**dict(zip(self._fed, batch, strict=True)), self._trains: trains, self._now: step}

    def train(self, batch: Batch, step: int) -> None:
        """Take a step, and evict after some of them."""
        runs = {"step": self._step} | ({"evict": self._evicting} if self._evicting and (step + 1) % EVERY == 0 else {})
        fed = self._feed(batch, step, trains=True)
        for name, fetches in runs.items():
            began = time.perf_counter()
            self._session.run(fetches, fed)
            self._seconds[name].append(time.perf_counter() - began)

    def seconds(self) -> float:
        """Return the undisturbed time of a free step, with its part of an eviction."""
        evictions = self._seconds["evict"]
        return undisturbed(self._seconds["step"]) + (min(evictions) / EVERY if evictions else 0)

    def auc(self, batch: Batch) -> float:
        """Return the area under the curve for samples; nothing is inserted."""
        return auc(self._session.run(self._score, self._feed(batch, 0, trains=False)), batch[2])

    def rows(self) -> int:
        """Return how many rows its tables have, the base left out."""
        return int(sum(self._session.run(self._sizes)))

    def close(self) -> dict[str, int]:
        """Let go of it, and return the bytes of each of its tables."""
        names = [table.table_name for table in self._tables]
        before = _bytes(names)
        self._session.close()
        after = _bytes(names)
        return {name: before[name] - after[name] for name in names}


def _bytes(names: list[str]) -> dict[str, int]:
    live = runtime.status().tables
    return {name: sum(one.bytes for one in live if one.name == name) for name in names}


@dataclass(frozen=True)
class Measured:
    """What was measured of a limit."""

    limit: str
    rows: int
    bytes: int
    auc: float
    seconds: float  #: of a step

    @classmethod
    def of(cls, model: Model, world: World) -> Measured:
        """Measure a trained model, and let go of it."""
        rows, area, seconds = model.rows(), model.auc(world.held_out), model.seconds()
        return cls(model.limit.name, rows, sum(model.close().values()), area, seconds)


def measured(
    sizes: tuple[int, int], share: float, steps: int, batch: int, held_out: int, at: Path
) -> Iterator[Measured]:
    """Train all by turns on the same batches: by buckets for half of the steps, then with each limit."""
    whole = _trained(World(*sizes, held_out, 5), [Model(FREE, sizes, share, {}, at)], steps, batch)[0].close()
    models = [Model(limit, sizes, share, whole, at) for limit in (KEPT, FREE, *LIMITS)]
    world = World(*sizes, held_out, 5)
    for model in _trained(world, models, steps, batch):
        yield Measured.of(model, world)


def _trained(world: World, models: list[Model], steps: int, batch: int) -> list[Model]:
    for step in range(steps):
        if step == steps // 2:
            for model in models:
                model.free()
        samples = world.batch(batch)
        for model in in_turn(models, step):
            model.train(samples, step)
    return models
