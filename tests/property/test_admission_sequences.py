"""Counting, admission and eviction in any sequence with training, saving and restoring, by the documented rules."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule

from tests.support.property.admission import COEFFICIENTS, AdmissionDriver, AdmissionOracle, Case, admission_world
from tests.support.property.numbers import RATE, SEED, numbers
from tests.support.property.settings import run

_DIM = 3
_KEY = st.one_of(st.integers(1, 8), st.integers(1, 8), st.sampled_from([-(2**63), 2**63 - 1, 0, -1, 2**32]))
_KEYS = st.lists(_KEY, max_size=10) | st.integers(1, 90).map(lambda start: list(range(start, start + 30)))
# Differences are often those at which keys are just evicted; after a late time no other is the newest, so few are late.
_TIMES = [0, 6, 10, 16, 20, 26, 40, 46, 50, 56, 60, 80, 86, 90, 100]
_TIME = st.sampled_from([*_TIMES, *_TIMES, 2**32 - 52])
_AGE = st.sampled_from([0, 1, 10, 40, 2**31])


class AdmissionSequences(RuleBasedStateMachine):
    """Two sessions, the second to go on in from a checkpoint; few keys, so that they come back after eviction."""

    case = Case(0)
    saved = Bundle("saved")

    def __init__(self) -> None:
        super().__init__()
        self.world = admission_world(_DIM, self.case)
        self.sessions = list(self.world.sessions)
        self.driver = AdmissionDriver(self.world, self.sessions[0])
        self.folder = tempfile.TemporaryDirectory()
        self.saves = 0

    @rule(keys=_KEYS, lookup=st.sampled_from([0, 0, 0, 1, 2]), now=_TIME, columns=st.integers(1, 2))
    def count(self, keys: list[int], lookup: int, now: int, columns: int) -> None:
        assert len(COEFFICIENTS) > lookup
        self.driver.count(keys, lookup, now, columns)

    @rule(keys=_KEYS, default=st.booleans())
    def read(self, keys: list[int], default: bool) -> None:
        self.driver.read(keys, default)

    @rule(keys=_KEYS, seed=SEED, rate=RATE, now=_TIME)
    def train(self, keys: list[int], seed: int, rate: float, now: int) -> None:
        self.driver.train(keys, numbers(seed, len(keys), _DIM), rate, now)

    @rule(keys=_KEYS, seed=SEED)
    def import_rows(self, keys: list[int], seed: int) -> None:
        self.driver.import_rows(keys, numbers(seed, len(keys), _DIM))

    @rule(keys=_KEYS, seed=SEED, start=st.integers(0, 60), step=st.sampled_from([0, 20, 45]))
    def import_what_waits(self, keys: list[int], seed: int, start: int, step: int) -> None:
        """A key that waited and then had a row from elsewhere is as old as when that row was last seen."""
        self.driver.count(keys, 0, start)
        self.import_rows(keys[::2], seed)
        self.driver.count(keys, 0, start + step)
        self.driver.evict("hook", 0, 0)

    @rule(threshold=st.sampled_from([0, 1, 2, 3, 7, 2**31 - 1]))
    def set_threshold(self, threshold: int) -> None:
        if self.case.bits == 0 or threshold < 2**self.case.bits:
            self.driver.set_threshold(threshold)

    @rule(how=st.sampled_from(["hook", "age", "step"]), age=_AGE, now=_TIME, keys=_KEYS, again=_TIME, seed=SEED)
    def evict(self, how: str, age: int, now: int, keys: list[int], again: int, seed: int) -> None:
        """Evict, then look up and train the same and other keys again."""
        self.driver.evict(how, age, now)
        self.driver.count(keys, 0, again)
        self.driver.train(keys, numbers(seed, len(keys), _DIM), 0.5, again)

    @rule(keys=_KEYS, seed=SEED, rate=RATE, now=_TIME, what=st.sampled_from(["", "hook", "step", "norm", "remove"]))
    def late_update(self, keys: list[int], seed: int, rate: float, now: int, what: str) -> None:
        """The update comes when rows are gone that its lookup found: it brings none back."""
        self.driver.count(keys, 0, now)
        if what == "norm":
            self.driver.evict_light(1)
        elif what == "remove":
            self.driver.remove(keys[::2])
        elif what:
            self.driver.evict(what, 0, now + 50)
        self.driver.update(keys, numbers(seed, len(keys), _DIM), rate)

    @rule(which=st.integers(0, 2))
    def evict_light(self, which: int) -> None:
        self.driver.evict_light(which)

    @rule(keys=_KEYS)
    def remove(self, keys: list[int]) -> None:
        self.driver.remove(keys)

    @rule()
    def reset(self) -> None:
        self.driver.reset()

    @rule(target=saved, increment=st.sampled_from([True, True, False]))
    def save(self, increment: bool) -> tuple[str, AdmissionOracle]:
        self.saves += 1
        path, oracle = self.driver.save(self.folder.name, self.saves, increment)
        assert isinstance(oracle, AdmissionOracle)
        return path, oracle

    @rule(saved=saved, other=st.booleans(), how=st.sampled_from(["hook", "age"]), keys=_KEYS, now=_TIME)
    def restore(self, saved: tuple[str, AdmissionOracle], other: bool, how: str, keys: list[int], now: int) -> None:
        """Restore; what was counted before goes on."""
        if other:
            self.sessions.reverse()
        self.driver.restore(saved, self.sessions[0])
        self.driver.read(keys, False)
        self.driver.count(keys, 0, now)
        self.driver.evict(how, 10, now)

    @rule(keys=_KEYS, others=_KEYS, seed=SEED, now=st.integers(0, 60), other=st.booleans())
    def increments(self, keys: list[int], others: list[int], seed: int, now: int, other: bool) -> None:
        """Save what was evicted, counted and trained since a checkpoint, and go on from it."""
        self.driver.count(keys, 1, now)
        self.save(True)
        self.driver.count(others, 0, now + 45)
        self.driver.evict("hook", 0, 0)
        self.driver.train(others, numbers(seed, len(others), _DIM), 0.1, now)
        self.restore(self.save(True), other, "age", keys, now + 46)

    @rule(keys=_KEYS, seed=SEED, now=_TIME)
    def emptied_between(self, keys: list[int], seed: int, now: int) -> None:
        """An increment of a table that was emptied, and counts nothing yet, leaves no counters of the one before."""
        self.driver.reset()
        self.driver.count(keys, 0, now)
        self.save(True)
        self.driver.reset()
        self.import_rows(keys[:1], seed)
        self.restore(self.save(True), False, "hook", keys, now)

    @rule()
    def check(self) -> None:
        self.driver.check()

    def teardown(self) -> None:
        self.driver.check()
        self.folder.cleanup()


@pytest.mark.parametrize(
    "case",
    [Case(0), Case(1, rule="sgd"), Case(2), Case(3), Case(5, 8), Case(2, 32, "lazy_adam")],
    ids=lambda case: f"{case.threshold}-{case.bits}-{case.rule}",
)
@pytest.mark.one_case
def test_admission_sequences(case: Case) -> None:
    run(AdmissionSequences, 12, 40, case=case)
