"""What a table that counts its keys must hold, by docs/runtime/admission.md, and the graph that drives one."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

import runtime
from tests.support.property.oracle import Oracle
from tests.support.property.rules import Rule
from tests.support.property.world import Driver, World, same, shaped

v1 = tf.compat.v1
MOST = 2**32 - 1
EVICTION = 40
DEFAULT = -7.0
#: What one occurrence counts in each of the lookups; the last fills a counter at its second.
COEFFICIENTS = (1, 2, 2**31 - 1)


@dataclass
class Known:
    """How often a key was seen and when last; None is not since it came."""

    count: int
    seen: int | None


@dataclass(frozen=True)
class Case:
    """The thresholds of a world; `bits` are those of its Bloom counters, 0 for exact ones."""

    threshold: int
    bits: int = 0
    rule: str = "adagrad"


class AdmissionOracle(Oracle):
    """A dict of rows, with what is known of each key, and of those that wait for a row."""

    def __init__(self, initializer: str, seed: int, dim: int, rule: Rule, case: Case) -> None:
        """Start with no rows; the filter counts exactly as long as no two keys share all their counters."""
        super().__init__(initializer, seed, dim, rule)
        self.case = case
        self.known: dict[int, Known] = {}
        self.waiting: dict[int, Known] = {}
        self.filter: dict[int, int] = {}
        self.newest: int | None = None
        self.tracked = False
        #: Whether rows were evicted since the table was emptied or restored.
        self.thinned = False
        #: What set_threshold said.
        self.replaced: int | None = None
        self.halted = False

    @property
    def threshold(self) -> int:
        """The threshold in force."""
        return self.case.threshold if self.replaced is None else self.replaced

    def set_threshold(self, threshold: int) -> None:
        """Replace the threshold; 0 stops counting and keeps it."""
        self.tracked, self.halted = True, threshold == 0
        self.replaced = threshold or self.replaced

    def count(self, keys: Sequence[int], coefficient: int, now: int) -> np.ndarray:
        """Count the keys of a training lookup, insert those that are admitted, return which have rows to read."""
        stopped = self.halted or self.threshold == 0
        self.tracked, self.newest = True, max(now, self.newest or 0)
        for key, times in Counter(keys).items():
            more = 0 if stopped else times * coefficient
            if key not in self.rows:
                self._wait(key, more)
                continue
            known = self.known[key]
            if known.count:  # a row that did not come by counting is not counted
                known.count = min(MOST, known.count + more)
            known.seen = max(self.newest, known.seen or 0)
        return self.admitted(keys)

    def _wait(self, key: int, more: int) -> None:
        if self.case.bits:
            count = min(2**self.case.bits - 1, self.filter.get(key, 0) + more)
            self.filter[key] = count
        else:
            count = min(MOST, more + (self.waiting[key].count if key in self.waiting else 0))
        if count >= self.threshold:
            self.insert([key])
            self.known[key] = Known(count, self.newest)
        elif count and not self.case.bits:
            self.waiting[key] = Known(count, self.newest)

    def admitted(self, keys: Sequence[int]) -> np.ndarray:
        """Return which keys have rows that may be read."""
        counts = [self.known[key].count if key in self.known else -1 for key in keys]
        return np.array([count == 0 or count >= self.threshold for count in counts], bool)

    def update(self, keys: Sequence[int], gradients: np.ndarray, rate: float) -> None:
        """Train rows; a table that counts, or that rows were evicted from, drops the gradients of absent keys."""
        there = np.array([key in self.rows or not (self.tracked or self.thinned) for key in keys], bool)
        super().update([key for key, one in zip(keys, there, strict=True) if one], gradients[there], rate)

    def insert(self, keys: Sequence[int]) -> None:
        """Insert unseen keys, which then wait no longer."""
        super().insert(keys)
        for key in keys:
            self.known.setdefault(key, Known(0, None))
            self.waiting.pop(key, None)

    def evict(self, age: int, now: int | None) -> int:
        """Forget what was last seen `age` or more before `now`; return the number of rows."""
        present = self.newest if now is None else now
        if not self.tracked or present is None:
            raise LookupError
        for known in self.known.values():
            known.seen = present if known.seen is None else known.seen
        old = [key for key, known in self.known.items() if known.seen is not None and present - known.seen >= age]
        self.remove(old)
        self.thinned |= bool(old)
        for key, known in list(self.waiting.items()):
            if known.seen is not None and present - known.seen >= age:
                del self.waiting[key]
        return len(old)

    def evict_light(self, least: float) -> int:
        """Forget rows whose half squared norm is below `least`; return their number."""
        light = []
        for key, row in self.rows.items():
            squares = np.add.accumulate(np.concatenate([np.zeros(1, np.float32), row[0] * row[0]]))
            if np.float32(0.5) * squares[-1] < np.float32(least):
                light.append(key)
        self.remove(light)
        self.thinned |= bool(light)
        return len(light)

    def remove(self, keys: Sequence[int]) -> None:
        """Forget rows and counters, but for those of a filter."""
        super().remove(keys)
        for key in keys:
            self.known.pop(key, None)
            self.waiting.pop(key, None)

    def reset(self) -> None:
        """Forget all rows and counters."""
        super().reset()
        self.known, self.waiting, self.filter, self.newest, self.replaced = {}, {}, {}, None, None
        self.tracked = self.halted = self.thinned = False

    def copy(self) -> AdmissionOracle:
        """Return a copy that shares nothing that changes."""
        other = super().copy()
        assert isinstance(other, AdmissionOracle)
        other.known = {key: Known(known.count, known.seen) for key, known in self.known.items()}
        other.waiting = {key: Known(known.count, known.seen) for key, known in self.waiting.items()}
        other.filter = dict(self.filter)
        other.thinned = False  # a checkpoint does not tell
        return other


class AdmissionWorld(World):
    """The graph of a table with thresholds."""

    def __init__(self, dim: int, case: Case) -> None:
        """Build it."""
        self.case = case
        super().__init__(dim, case.rule)
        self.sessions = [v1.Session(graph=self.graph) for _ in range(2)]

    def _build(self) -> None:
        table, optimizer = self.table, self.rule.make(self.rate)
        self.clock = v1.placeholder(tf.int64, [])
        bloom = runtime.CountingBloom(2000, 1e-6, self.case.bits) if self.case.bits else None
        config = {"access_threshold": self.case.threshold, "eviction_threshold": EVICTION, "timestamp": self.clock}
        configs = [config | {"faae_coefficient": one, "bloom_filter": bloom} for one in COEFFICIENTS]
        # Each reads ids of its own: with the same, each would be run after those before it, as in one step.
        self.counted_ids = [v1.placeholder(tf.int64, [None, None]) for _ in configs]
        self.counted = [
            runtime.sparse_lookup(table, ids, access_and_evict_config=one)
            for ids, one in zip(self.counted_ids, configs, strict=True)
        ]
        self.read = runtime.sparse_lookup(table, self.ids, is_train=False)
        self.read_default = runtime.sparse_lookup(table, self.ids, is_train=False, serving_default_value=DEFAULT)
        self.step_rows = runtime.sparse_lookup(table, self.step_ids, access_and_evict_config=configs[0])
        self.stepped = optimizer.minimize(tf.reduce_sum(self.step_rows * self.factors))
        self.age, self.threshold = v1.placeholder(tf.int64, []), v1.placeholder(tf.int64, [])
        self.evictions = {
            "hook": runtime.evict_by_age(table),
            "age": runtime.evict_by_age(table, self.age, self.clock),
            "step": runtime.evict_by_step(table, 5, self.clock),
        }
        self.evicted_by_norm = [runtime.evict_by_norm(table, least) for least in (0.0, 0.5, 1e30)]
        self.set_threshold = runtime.set_threshold(table, self.threshold)
        self.updated = optimizer.apply_gradients([(tf.IndexedSlices(self.values, self.keys), table.variable)])
        self.removed = runtime.native.ops().rec_table_remove(table.handle, self.keys)
        self.imported = table.import_rows(self.keys, self.values)
        self.snapshot, self.size = table.snapshot(), table.size()
        self.reset = table.variable.initializer

    def oracle(self) -> AdmissionOracle:
        """Return what the table holds after `start`."""
        return AdmissionOracle(self.initializer, self.table.seed, self.dim, self.rule, self.case)


class AdmissionDriver(Driver):
    """Runs operations on a session and on the oracle."""

    world: AdmissionWorld
    oracle: AdmissionOracle

    def count(self, keys: Sequence[int], lookup: int, now: int, columns: int = 1) -> None:
        """Look keys up in training."""
        feed = {self.world.counted_ids[lookup]: shaped(keys, columns), self.world.clock: now}
        rows = self.session.run(self.world.counted[lookup], feed)
        admitted = self.oracle.count(keys, COEFFICIENTS[lookup], now)
        same(self._expected(keys, admitted, 0.0), rows.reshape(-1, self.world.dim))

    def read(self, keys: Sequence[int], default: bool) -> None:
        """Look keys up in evaluation."""
        fetched = self.world.read_default if default else self.world.read
        rows = self.session.run(fetched, {self.world.ids: shaped(keys, 1)})
        admitted = self.oracle.admitted(keys)
        same(self._expected(keys, admitted, DEFAULT if default else 0.0), rows.reshape(-1, self.world.dim))

    def _expected(self, keys: Sequence[int], admitted: np.ndarray, default: float) -> np.ndarray:
        return np.where(admitted[:, None], self.oracle.read(keys), np.float32(default))

    def train(self, keys: Sequence[int], gradients: np.ndarray, rate: float, now: int) -> None:
        """Look up and update in one run; keys without a row have no gradient."""
        world, ids = self.world, shaped(keys, 1)
        feed = {world.step_ids: ids, world.factors: gradients[:, None], world.rate: rate, world.clock: now}
        rows, _ = self.session.run([world.step_rows, world.stepped], feed)
        admitted = self.oracle.count(keys, COEFFICIENTS[0], now)
        same(self._expected(keys, admitted, 0.0), rows.reshape(-1, world.dim))
        chosen = [key for key, one in zip(keys, admitted, strict=True) if one]
        self.oracle.update(chosen, gradients[admitted], rate)

    def set_threshold(self, threshold: int) -> None:
        """Replace the threshold; 0 stops counting and keeps it."""
        self.session.run(self.world.set_threshold, {self.world.threshold: threshold})
        self.oracle.set_threshold(threshold)

    def evict(self, how: str, age: int, now: int) -> None:
        """Evict as EvictHook does, by age or by step; the number of rows deleted is compared."""
        fetched = self.world.evictions[how]
        feed = {} if how == "hook" else {self.world.clock: now, self.world.age: age}
        try:
            wanted = self.oracle.evict({"hook": EVICTION, "age": age, "step": 6}[how], None if how == "hook" else now)
        except LookupError:
            try:
                self.session.run(fetched, feed)
            except tf.errors.InvalidArgumentError as error:
                assert "does not know when its keys were looked up" in str(error)
                return
            raise AssertionError("a table without times evicted by them") from None
        assert self.session.run(fetched, feed) == wanted

    def evict_light(self, which: int) -> None:
        """Evict by norm."""
        assert self.session.run(self.world.evicted_by_norm[which]) == self.oracle.evict_light((0.0, 0.5, 1e30)[which])


@functools.cache
def admission_world(dim: int, case: Case) -> AdmissionWorld:
    """Return the world of a width and thresholds, built on first use."""
    return AdmissionWorld(dim, case)
