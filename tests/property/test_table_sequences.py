"""Any sequence of operations leaves a table with the rows that a dict of numpy rows has, to the last bit."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from tests.support.property.numbers import RATE, SEED, numbers
from tests.support.property.oracle import Oracle
from tests.support.property.rules import RULES
from tests.support.property.settings import run
from tests.support.property.world import Driver, world

_EXTREME = [-(2**63), -(2**63) + 1, 2**63 - 1, -1, 0, 2**32, -(2**32), 2**31 - 1, -(2**31)]
_KEY = st.one_of(st.integers(1, 6), st.sampled_from(_EXTREME), st.integers(-(2**63), 2**63 - 1))
_INTERRUPTIONS = ["reset", "restore", "remove", "import", "insert"]


class Sequences(RuleBasedStateMachine):
    """Operations on one table; batches are drawn again and again, as the engine remembers what it has looked up."""

    dim = 1
    rule_name = "sgd"
    batches = Bundle("batches")
    saved = Bundle("saved")

    def __init__(self) -> None:
        super().__init__()
        self.world = world(self.dim, self.rule_name)
        self.sessions = _sessions(self.dim, self.rule_name)
        self.driver = Driver(self.world, self.sessions[0])
        self.folder = tempfile.TemporaryDirectory()
        self.saves = 0

    def _numbers(self, seed: int, keys: list[int]) -> np.ndarray:
        return numbers(seed, len(keys), self.dim)

    @initialize(target=batches, keys=st.lists(_KEY, min_size=1, max_size=12))
    def first(self, keys: list[int]) -> list[int]:
        return keys

    @rule(target=batches, keys=st.lists(_KEY, max_size=40))
    def draw(self, keys: list[int]) -> list[int]:
        return keys

    @rule(target=batches, count=st.sampled_from([300, 3000]), seed=SEED)
    def draw_many(self, count: int, seed: int) -> list[int]:
        return np.random.default_rng(seed).integers(-(2**40), 2**40, count).tolist()

    @rule(target=batches, count=st.sampled_from([30, 600, 2047, 2500]), first=st.sampled_from([0, 60, 4080]), seed=SEED)
    def draw_vocabulary(self, count: int, first: int, seed: int) -> list[int]:
        """Small keys, whose slots lie by key in a table of few rows."""
        return np.random.default_rng(seed).integers(first, first + count, count).tolist()

    @rule(target=batches, keys=batches, seed=SEED)
    def shuffle(self, keys: list[int], seed: int) -> list[int]:
        return np.random.default_rng(seed).permutation(np.array(keys, np.int64)).tolist()

    @rule(keys=batches, columns=st.integers(1, 3), insert=st.booleans())
    def look_up(self, keys: list[int], columns: int, insert: bool) -> None:
        self.driver.look_up(keys, insert, columns)

    @rule(keys=st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(1, 6), max_size=20))
    def read_narrow(self, keys: list[int]) -> None:
        self.driver.read_narrow(keys)

    @rule(keys=batches, seed=SEED, rate=RATE)
    def update(self, keys: list[int], seed: int, rate: float) -> None:
        self.driver.update(keys, self._numbers(seed, keys), rate)

    @rule(keys=batches, seed=SEED, rate=RATE, columns=st.integers(1, 3))
    def step(self, keys: list[int], seed: int, rate: float, columns: int) -> None:
        self.driver.step(keys, self._numbers(seed, keys), rate, columns)

    @rule(keys=batches, others=batches)
    def grouped(self, keys: list[int], others: list[int]) -> None:
        self.driver.grouped(keys, others)

    @rule(keys=batches, cuts=st.lists(st.floats(0, 0.99), max_size=6), seed=SEED, rate=RATE, train=st.booleans())
    def pool(self, keys: list[int], cuts: list[float], seed: int, rate: float, train: bool) -> None:
        if keys:  # the last bag is the last with an id
            splits = [0, *sorted(int(cut * len(keys)) for cut in cuts), len(keys)]
            self.driver.pool(keys, splits, numbers(seed, len(cuts) + 1, self.dim) if train else None, rate)

    @rule(keys=batches, part=st.sampled_from([0.3, 1.0]))
    def remove(self, keys: list[int], part: float) -> None:
        self.driver.remove(keys[: int(part * len(keys))])

    @rule(keys=batches, seed=SEED)
    def import_rows(self, keys: list[int], seed: int) -> None:
        self.driver.import_rows(keys, self._numbers(seed, keys))

    @rule(keys=batches, seed=SEED, rate=RATE, what=st.sampled_from(_INTERRUPTIONS))
    def interrupted_step(self, keys: list[int], seed: int, rate: float, what: str) -> None:
        """Whatever comes between a look-up and its update: the update finds the rows that are there then."""
        saved = self.save() if what == "restore" else None
        self.driver.look_up(keys, insert=True)
        if saved is not None:
            self.driver.restore(saved)
        elif what == "reset":
            self.driver.reset()
        elif what == "remove":
            self.driver.remove(keys[::2])
        elif what == "import":
            self.driver.import_rows(keys[::2], self._numbers(seed + 1, keys[::2]))
        else:
            self.driver.look_up([key ^ 2**40 for key in keys], insert=True)
        self.driver.update(keys, self._numbers(seed, keys), rate)

    @rule(keys=batches, at=st.sampled_from([0.0, 0.5, 1.0]), other=_KEY, seed=SEED, rate=RATE)
    def step_of_other_keys(self, keys: list[int], at: float, other: int, seed: int, rate: float) -> None:
        """The update is of nearly the batch that was looked up: one key is another."""
        self.driver.look_up(keys, insert=True)
        place = round(at * (len(keys) - 1)) if keys else 0
        keys = [*keys[:place], other, *keys[place + 1 :]]
        self.driver.update(keys, self._numbers(seed, keys), rate)

    @rule()
    def reset(self) -> None:
        self.driver.reset()

    @rule(target=saved, increment=st.booleans())
    def save_rows(self, increment: bool) -> tuple[str, Oracle]:
        return self.save(increment)

    def save(self, increment: bool = False) -> tuple[str, Oracle]:
        self.saves += 1
        return self.driver.save(self.folder.name, self.saves, increment)

    @rule(saved=saved, other=st.booleans())
    def restore(self, saved: tuple[str, Oracle], other: bool) -> None:
        if other:  # that session's table holds whatever was left there
            self.sessions.reverse()
        self.driver.restore(saved, self.sessions[0])

    @rule()
    def check(self) -> None:
        self.driver.check()

    def teardown(self) -> None:
        self.driver.check()
        self.folder.cleanup()


_OPEN: dict[tuple[int, str], list[Any]] = {}


def _sessions(dim: int, name: str) -> list[Any]:
    if (dim, name) not in _OPEN:
        _OPEN[dim, name] = [tf.compat.v1.Session(graph=world(dim, name).graph) for _ in range(2)]
    return list(_OPEN[dim, name])


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("dim", [1, 3, 16])
@pytest.mark.one_case
def test_sequences(dim: int, name: str) -> None:
    run(Sequences, 40, 25, dim=dim, rule_name=name)
