"""Training by address in any sequence with eviction, saving and restoring: an address is its row's, or refused."""

from __future__ import annotations

import tempfile

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule

from tests.support.property.admission import AdmissionOracle, Case
from tests.support.property.expansion import ExpansionDriver, expansion_world
from tests.support.property.numbers import RATE, SEED, numbers
from tests.support.property.settings import run

_DIM = 3
_KEY = st.integers(1, 12) | st.sampled_from([-(2**63), 2**63 - 1, 0, -1])
_KEYS = st.lists(_KEY, max_size=12) | st.integers(1, 90).map(lambda start: list(range(start, start + 40)))
_TIME = st.integers(0, 100)
_BITS = [*range(20, 28), *range(34, 64)]


class ExpansionSequences(RuleBasedStateMachine):
    """Rows come and go at the same places, so that an old address often is that of another row's place."""

    case = Case(-1)
    saved = Bundle("saved")

    def __init__(self) -> None:
        super().__init__()
        self.world = expansion_world(_DIM, self.case)
        self.sessions = list(self.world.sessions)
        self.driver = ExpansionDriver(self.world, self.sessions[0])
        self.folder = tempfile.TemporaryDirectory()
        self.saves = 0

    @rule(keys=_KEYS, seed=SEED, rate=RATE, now=_TIME, train=st.booleans())
    def look_up(self, keys: list[int], seed: int, rate: float, now: int, train: bool) -> None:
        self.driver.look_up_here(keys, numbers(seed, len(keys), _DIM) if train else None, rate, now)

    @rule(keys=_KEYS)
    def read(self, keys: list[int]) -> None:
        self.driver.read_rows(keys)

    @rule(chosen=st.lists(st.integers(0, 30), max_size=20), seed=SEED, rate=RATE)
    def update_at(self, chosen: list[int], seed: int, rate: float) -> None:
        self.driver.at(chosen, None, numbers(seed, 20, _DIM), rate)

    @rule(chosen=st.lists(st.integers(0, 30), max_size=5), which=st.integers(0, 1000), seed=SEED)
    def stale(self, chosen: list[int], which: int, seed: int) -> None:
        gone = sorted({*self.driver.here.gone, *self.driver.elsewhere()})
        if gone:
            self.driver.at(chosen, gone[which % len(gone)], numbers(seed, 20, _DIM), 0.5)

    @rule(
        chosen=st.lists(st.integers(0, 30), max_size=5), bit=st.sampled_from(_BITS), which=st.integers(0, 30), seed=SEED
    )
    def invented(self, chosen: list[int], bit: int, which: int, seed: int) -> None:
        """One bit of an address is another, but those that tell places in use apart: rows are there."""
        live = list(self.driver.here.live.values()) or [0]
        wrong = (live[which % len(live)] & (2**64 - 1)) ^ 1 << bit
        self.driver.at(chosen, wrong - 2**64 if wrong >= 2**63 else wrong, numbers(seed, 20, _DIM), 0.5)

    @rule(keys=_KEYS, seed=SEED)
    def import_rows(self, keys: list[int], seed: int) -> None:
        self.driver.import_rows(keys, numbers(seed, len(keys), _DIM))

    @rule(keys=_KEYS, again=_KEYS, now=_TIME)
    def remove(self, keys: list[int], again: list[int], now: int) -> None:
        """Others take the places of rows that are removed."""
        self.driver.remove(keys)
        self.driver.forget()
        self.driver.look_up_here(again, None, 0.0, now)

    @rule(which=st.integers(0, 2), keys=_KEYS, now=_TIME)
    def evict_light(self, which: int, keys: list[int], now: int) -> None:
        self.driver.evict_light(which)
        self.driver.forget()
        self.driver.look_up_here(keys, None, 0.0, now)

    @rule(keys=_KEYS, now=_TIME)
    def evict(self, keys: list[int], now: int) -> None:
        self.driver.evict("hook", 0, 0)
        self.driver.forget()
        self.driver.look_up_here(keys, None, 0.0, now)

    @rule(keys=_KEYS, now=_TIME)
    def reset(self, keys: list[int], now: int) -> None:
        self.driver.reset()
        self.driver.replaced_all()
        self.driver.look_up_here(keys, None, 0.0, now)

    @rule(target=saved, increment=st.sampled_from([True, True, False]))
    def save(self, increment: bool) -> tuple[str, AdmissionOracle]:
        self.saves += 1
        path, oracle = self.driver.save(self.folder.name, self.saves, increment)
        assert isinstance(oracle, AdmissionOracle)
        return path, oracle

    @rule(saved=saved, other=st.booleans(), keys=_KEYS, now=_TIME)
    def restore(self, saved: tuple[str, AdmissionOracle], other: bool, keys: list[int], now: int) -> None:
        if other:
            self.sessions.reverse()
        self.driver.restore(saved, self.sessions[0])
        self.driver.replaced_all()
        self.driver.look_up_here(keys, None, 0.0, now)

    @rule()
    def check(self) -> None:
        self.driver.check()

    def teardown(self) -> None:
        self.driver.check()
        self.folder.cleanup()


@pytest.mark.parametrize(
    "case",
    [Case(-1, rule="adagrad"), Case(0, rule="sgd"), Case(2, rule="lazy_adam")],
    ids=lambda case: f"{case.threshold}-{case.rule}",
)
@pytest.mark.one_case
def test_expansion_sequences(case: Case) -> None:
    run(ExpansionSequences, 20, 40, case=case)
