"""An eager table, its functions and loops, and what drives them beside an oracle."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime import checkpoint
from runtime.initializers import initializer_text
from tests.support.property.dense import DENSE_RULES, DenseOracle
from tests.support.property.oracle import Oracle, same
from tests.support.property.rules import RULES
from tests.support.property.world import initializer

_KEYS, _RATE = tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.float32)


class EagerWorld:
    """A table, trained by one rule, and all that can be done to it; `number` tells worlds alike apart."""

    def __init__(self, dim: int, rule: str, number: int = 0) -> None:
        """Make the table and the functions, which are traced once."""
        law = initializer(dim)
        self.dim, self.number, self.name = dim, number, rule
        self.table = runtime.create_table(tf.int64, dim, "t", law)
        self.initializer = initializer_text(law, 1, dim)
        self.rate = tf.Variable(0.0, trainable=False)
        self.optimizer = (RULES[rule].make if rule in RULES else DENSE_RULES[rule].make)(self.rate)
        self.checkpoint = tf.train.Checkpoint(table=self.table, optimizer=self.optimizer)
        self.optimizer.apply_gradients([self._pair(tf.zeros([0], tf.int64), tf.zeros([0, dim]))])
        self.first = self._started()
        rows = tf.TensorSpec([None, dim], tf.float32)
        one = [_KEYS, rows, _RATE]
        self.looked_up: dict[str, Any] = {"eager": self._look_up}
        self.looked_up["function"] = tf.function(self._look_up, input_signature=[_KEYS, tf.TensorSpec([], tf.bool)])
        self.stepped: dict[str, Any] = {"eager": self._step, "function": tf.function(self._step, input_signature=one)}
        self.stepped["nested"] = tf.function(lambda *args: self.stepped["function"](*args), input_signature=one)
        self.applied: dict[str, Any] = {"eager": self._apply, "function": tf.function(self._apply, input_signature=one)}
        self.read_around = tf.function(self._read_around, input_signature=one)
        many = [
            tf.TensorSpec([None, None], tf.int64),
            tf.TensorSpec([None, None, dim], tf.float32),
            tf.TensorSpec([None], tf.float32),
        ]
        self.looped = tf.function(self._loop, input_signature=many)

    def _started(self) -> list[tuple[tf.Variable, Any]]:
        """Return the optimizer's variables with what they hold before the first step: the betas, or 0 steps."""
        known = self.optimizer.variables()
        return [(one, self.optimizer._betas[i] if len(known) == 2 else 0) for i, one in enumerate(known)]

    def _pair(self, keys: tf.Tensor, gradients: tf.Tensor) -> tuple[tf.IndexedSlices, Any]:
        return tf.IndexedSlices(gradients, keys, tf.constant([0, self.dim], tf.int64)), self.table.variable

    def _look_up(self, keys: tf.Tensor, insert: Any) -> tf.Tensor:
        return runtime.sparse_lookup(self.table, keys, is_train=insert)

    def _apply(self, keys: tf.Tensor, gradients: tf.Tensor, rate: tf.Tensor) -> None:
        self.rate.assign(rate)
        self.optimizer.apply_gradients([self._pair(keys, gradients)])

    def _step(self, keys: tf.Tensor, factors: tf.Tensor, rate: tf.Tensor) -> tf.Tensor:
        self.rate.assign(rate)
        with tf.GradientTape() as tape:
            rows = runtime.sparse_lookup(self.table, keys)
            loss = tf.reduce_sum(rows * factors)
        gradient = tape.gradient(loss, self.table.variable)
        self.optimizer.apply_gradients([(gradient, self.table.variable)])
        return rows

    def _read_around(self, keys: tf.Tensor, factors: tf.Tensor, rate: tf.Tensor) -> tuple[tf.Tensor, ...]:
        before = self._look_up(keys, False)
        self.stepped["function"](keys, factors, rate)  # what an inner function does comes between the reads, too
        return before, self._look_up(keys, False)

    def _loop(self, keys: tf.Tensor, factors: tf.Tensor, rates: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        count = tf.shape(rates)[0]

        def body(i: tf.Tensor, rows: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            return i + 1, rows.write(i, self._step(keys[i], factors[i], rates[i]))

        start = tf.TensorArray(tf.float32, count, element_shape=[None, self.dim])
        rows = tf.while_loop(lambda i, _: i < count, body, (0, start), parallel_iterations=10)[1]
        return rows.stack(), self._look_up(keys[0], False)

    def start(self) -> Any:
        """Empty the table and let the optimizer begin anew; return the oracle of that."""
        with self.table.written():
            runtime.native.ops().rec_table_reset(self.table.handle)
        for variable, value in self.first:
            variable.assign(value)
        if self.name in RULES:
            return Oracle(self.initializer, self.table.seed, self.dim, RULES[self.name])
        return DenseOracle(self.initializer, self.table.seed, self.dim, DENSE_RULES[self.name])

    def rows(self) -> list[np.ndarray]:
        """Return keys in order, values, slots and meta."""
        keys, values, slots, meta = (np.asarray(part) for part in self.table.snapshot())
        order = np.argsort(keys)
        return [keys[order], values[order], slots[order], meta[:5]]


class EagerDriver:
    """Runs operations on a world and on the oracle alike."""

    def __init__(self, world: EagerWorld, folder: str) -> None:
        """Empty the table; increments go to `folder`."""
        self.world, self.folder = world, folder
        self.oracle: Any = world.start()
        self.saver = self._saver(world)
        self.saves = 0
        #: What changed the table since it was empty or restored, to be done again with another one.
        self.changes: list[Callable[[EagerWorld], Any]] = []

    def _saver(self, world: EagerWorld) -> Any:
        return checkpoint.IncrementalCheckpoint(
            world.checkpoint, [world.table], Path(self.folder) / "steps", full_every=4, max_to_keep=0
        )

    def _change(self, change: Callable[[EagerWorld], Any]) -> None:
        self.changes.append(change)
        change(self.world)

    def compare_unread(self, world: EagerWorld) -> None:
        """Do all changes again in a world that is never read or saved: reading and saving wrote nothing.

        A row that took what it put off when it was read would round otherwise later.
        """
        world.start()
        for change in self.changes:
            change(world)
        for one, other in zip(self.world.rows(), world.rows(), strict=True):
            same(one, other)

    def same(self, keys: Sequence[int], got: Any) -> None:
        """Compare rows of keys."""
        self.oracle.compare(self.oracle.read(keys), np.asarray(got).reshape(-1, self.world.dim))

    def look_up(self, keys: Sequence[int], insert: bool, way: str) -> None:
        """Look keys up; rows that are there stay as they are, to the last bit."""
        before = self.world.rows()
        self.same(keys, self.world.looked_up[way](tf.constant(keys, tf.int64), tf.constant(insert)))
        after = self.world.rows()
        if insert:
            self.changes.append(lambda world: world.looked_up["function"](tf.constant(keys, tf.int64), True))
            self.oracle.insert(keys)
            kept = np.isin(after[0], before[0])
            after = [*(part[kept] for part in after[:3]), after[3]]
        for one, other in zip(before, after, strict=True):
            same(one, other)

    def step(self, keys: Sequence[int], gradients: np.ndarray, rate: float, way: str) -> None:
        """Look up, differentiate and update."""
        arguments = (tf.constant(keys, tf.int64), tf.constant(gradients), tf.constant(rate))
        self.changes.append(lambda world: world.stepped["function"](*arguments))
        if way == "around":
            before, after = self.world.read_around(*arguments)
            self.same(keys, before)
        else:
            self.same(keys, self.world.stepped[way](*arguments))
        self.oracle.insert(keys)
        self.oracle.update(keys, gradients, rate)
        if way == "around":
            self.same(keys, after)

    def apply(self, keys: Sequence[int], gradients: np.ndarray, rate: float, way: str) -> None:
        """Apply gradients that no look-up made."""
        arguments = (tf.constant(keys, tf.int64), tf.constant(gradients), tf.constant(rate))
        self.changes.append(lambda world: world.applied["function"](*arguments))
        self.world.applied[way](*arguments)
        self.oracle.update(keys, gradients, rate)

    def loop(self, keys: np.ndarray, gradients: np.ndarray, rates: Sequence[float]) -> None:
        """Take the steps of keys [steps, n] with gradients [steps, n, dim] in a tf.while_loop."""
        arguments = (tf.constant(keys), tf.constant(gradients), tf.constant(rates, tf.float32))
        self.changes.append(lambda world: world.looped(*arguments))
        rows, last = self.world.looped(*arguments)
        for some, factors, rate, got in zip(keys.tolist(), gradients, rates, rows.numpy(), strict=True):
            self.same(some, got)
            self.oracle.insert(some)
            self.oracle.update(some, factors, rate)
        self.same(keys[0].tolist(), last)

    def import_rows(self, keys: Sequence[int], values: np.ndarray) -> None:
        """Insert or overwrite."""
        self._change(lambda world: world.table.import_rows(tf.constant(keys, tf.int64), tf.constant(values)))
        self.oracle.overwrite(keys, values)

    def remove(self, keys: Sequence[int]) -> None:
        """Remove rows."""
        self._change(
            lambda world: runtime.native.ops().rec_table_remove(world.table.handle, tf.constant(keys, tf.int64))
        )
        self.oracle.remove(keys)

    def reset(self) -> None:
        """Empty the table."""
        self._change(lambda world: runtime.native.ops().rec_table_reset(world.table.handle))
        self.oracle.reset()

    def save(self, increment: bool) -> tuple[str, Any, list[np.ndarray]]:
        """Save; return the path and what it holds. Saving changes nothing."""
        before = self.world.rows()
        self.saves += 1
        if increment:
            path = self.saver.save(self.saves)
        else:
            path = self.world.checkpoint.write(f"{self.folder}/whole-{self.saves}")
        for one, other in zip(before, self.world.rows(), strict=True):
            same(one, other)
        return str(path), self.oracle.copy(), before

    def restore(self, saved: tuple[str, Any, list[np.ndarray]], world: EagerWorld) -> None:
        """Restore a checkpoint, or an increment with all that it builds on, and go on in `world`."""
        if world is not self.world:
            self.world, self.saver = world, self._saver(world)
        self.changes = []
        if Path(saved[0]).name.startswith("whole"):
            self._change(lambda world: world.checkpoint.read(saved[0]).assert_consumed())
        else:
            self.saver.restore(saved[0])
            self.changes.append(lambda world: self._saver(world).restore(saved[0]))
        self.oracle = saved[1].copy()
        for one, other in zip(saved[2], self.world.rows(), strict=True):
            same(one, other)

    def check(self) -> None:
        """Compare the whole table."""
        keys, values, slots = self.oracle.sorted()
        got = self.world.rows()
        same(keys, got[0])
        assert int(self.world.table.size()) == len(keys)
        self.oracle.compare(values, got[1])
        if got[2].shape[1] or self.oracle.has_slots:
            self.oracle.compare_slots(slots, got[2])


@functools.cache
def eager_world(dim: int, rule: str, number: int) -> EagerWorld:
    """Return a world, built on first use."""
    return EagerWorld(dim, rule, number)
