"""A table that is looked up by its name, and used as a whole at the end of some way, is never converted."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.support.source import chains
from tests.support.source.ways import ALL, converts
from tests.support.source.whole_uses import SINKS, UNDER_AN_ASSUMPTION, programs

EVERY = len(SINKS) + 2  #: of the sample; no common divisor with the number of sinks, so that all of them are in it


def wrongly_converted(chosen: Iterable[tuple[str, str, str]], *, assume: bool = False) -> list[tuple[str, str]]:
    """Return way and sink of the programs that are converted."""
    return [(way, sink) for way, sink, text in chosen if converts(text, assume=assume)]


def test_a_sample_of_the_programs_stays() -> None:
    sample = list(programs())[::EVERY]
    assert {sink for _, sink, _ in sample} == set(SINKS)
    assert not wrongly_converted(sample)


@pytest.mark.soak
def test_all_programs_stay() -> None:
    assert len(ALL) * len(SINKS) > 1000
    assert not wrongly_converted(programs())


@pytest.mark.soak
def test_an_assumption_lifts_none_of_the_reasons_but_those_that_are_doubts() -> None:
    assert set(wrongly_converted(programs(), assume=True)) == UNDER_AN_ASSUMPTION


@pytest.mark.soak
def test_chains_of_ways_stay() -> None:
    assert [name for name, text in chains.programs(seed=7, count=2000) if converts(text)] == []
