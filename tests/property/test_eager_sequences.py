"""Eager code, functions and loops on one table in any sequence, with checkpoints and increments.

Tables whose optimizers move the rows of a batch are compared with a dict of rows, to the last bit; those whose
optimizers move every row with a dense matrix in float64. Whatever the optimizer, reading and saving change no bit, and
what was saved, whole or as increments, comes back to the last bit.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule

from tests.support.property.dense import DENSE_RULES, KEYS
from tests.support.property.eager import EagerDriver, eager_world
from tests.support.property.numbers import SEED, numbers
from tests.support.property.rules import RULES
from tests.support.property.settings import run

_KEYS = st.lists(st.sampled_from(KEYS), max_size=10)
_RATE = st.sampled_from([0.1, 0.1, 0.01, 0.001, 0.0])


class EagerSequences(RuleBasedStateMachine):
    """Two worlds, the second to go on in from a checkpoint; after `rest`, most rows have been untouched for long."""

    dim = 3
    rule_name = "sgd"
    rests = (2, 5)
    saved = Bundle("saved")

    def __init__(self) -> None:
        super().__init__()
        self.worlds = [eager_world(self.dim, self.rule_name, number) for number in range(2)]
        self.folder = tempfile.TemporaryDirectory()
        self.driver = EagerDriver(self.worlds[0], self.folder.name)

    def _numbers(self, seed: int, keys: list[int]) -> np.ndarray:
        return numbers(seed, len(keys), self.dim)

    @rule(keys=_KEYS, insert=st.booleans(), way=st.sampled_from(["eager", "function"]))
    def look_up(self, keys: list[int], insert: bool, way: str) -> None:
        self.driver.look_up(keys, insert, way)

    @rule(keys=_KEYS, seed=SEED, rate=_RATE, way=st.sampled_from(["eager", "function", "nested", "around"]))
    def step(self, keys: list[int], seed: int, rate: float, way: str) -> None:
        self.driver.step(keys, self._numbers(seed, keys), rate, way)

    @rule(keys=_KEYS, seed=SEED, rate=_RATE, way=st.sampled_from(["eager", "function"]))
    def apply(self, keys: list[int], seed: int, rate: float, way: str) -> None:
        self.driver.apply(keys, self._numbers(seed, keys), rate, way)

    @rule(which=st.integers(0, 2), some=st.integers(1, 4), size=st.integers(0, 5), seed=SEED, falls=st.booleans())
    def rest(self, which: int, some: int, size: int, seed: int, falls: bool) -> None:
        """Train few keys for long in one loop, at a rate of its own for each step, and read all."""
        rng = np.random.default_rng(seed)
        steps = self.rests[which % len(self.rests)]
        keys = np.array(KEYS, np.int64)[rng.permutation(len(KEYS))[:some]][rng.integers(0, some, [steps, size])]
        rates = 0.1 / (1 + np.arange(steps)) if falls else rng.choice([0.1, 0.01], steps)
        gradients = numbers(seed, steps * size, self.dim).reshape(steps, size, self.dim)
        self.driver.loop(keys, gradients, rates.astype(np.float32).tolist())
        self.driver.look_up(list(KEYS), False, "eager")

    @rule(keys=_KEYS, seed=SEED)
    def import_rows(self, keys: list[int], seed: int) -> None:
        self.driver.import_rows(keys, self._numbers(seed, keys))

    @rule(keys=_KEYS)
    def remove(self, keys: list[int]) -> None:
        self.driver.remove(keys)

    @rule(keys=_KEYS)
    def reset(self, keys: list[int]) -> None:
        if len(keys) > 5:  # seldom, so that much happens between
            self.driver.reset()

    @rule(target=saved, increment=st.sampled_from([True, True, False]))
    def save(self, increment: bool) -> Any:
        return self.driver.save(increment)

    @rule(saved=saved, other=st.booleans())
    def restore(self, saved: Any, other: bool) -> None:
        if other:
            self.worlds.reverse()
        self.driver.restore(saved, self.worlds[0])

    @rule(removed=_KEYS, keys=_KEYS, seed=SEED, rate=_RATE, other=st.booleans())
    def increments(self, removed: list[int], keys: list[int], seed: int, rate: float, other: bool) -> None:
        """Save what was removed and what was trained since a checkpoint, and go on from it."""
        self.driver.look_up(removed[::2], True, "eager")
        self.driver.save(True)
        self.driver.remove(removed)
        self.driver.apply(keys, self._numbers(seed, keys), rate, "function")
        self.restore(self.driver.save(True), other)

    @rule()
    def check(self) -> None:
        self.driver.check()

    def teardown(self) -> None:
        self.driver.check()
        self.driver.compare_unread(eager_world(self.dim, self.rule_name, 2))
        self.folder.cleanup()


@pytest.mark.parametrize("name", RULES)
@pytest.mark.one_case
def test_eager_sequences(name: str) -> None:
    run(EagerSequences, 6, 30, rule_name=name)


@pytest.mark.parametrize("name", DENSE_RULES)
@pytest.mark.one_case
def test_sequences_of_optimizers_that_move_every_row(name: str) -> None:
    run(EagerSequences, 4, 30, rule_name=name, rests=(7, 60, 200))
