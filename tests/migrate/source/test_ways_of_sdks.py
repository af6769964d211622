"""DeepRec's variables and options and layers of Keras are followed by the ways of `ways.py`, to their last use."""

from __future__ import annotations

import pytest

from tests.support.source.ways import FIRST, converts
from tests.support.source.ways_of_sdks import FOLLOWED, KINDS, WHOLE, followed, programs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.each_case
def test_the_first_ways_are_followed(kind: str) -> None:
    names = followed(kind, FIRST)
    assert len(names) == FOLLOWED[kind], {way.name for way in FIRST} - {*names}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.each_case
def test_a_sample_of_the_programs_stays(kind: str) -> None:
    every = 4 * len(WHOLE[kind][2]) + 1  # no common divisor with the number of uses: all of them are in the sample
    assert [(way, sink) for way, sink, text in [*programs(kind)][::every] if converts(text)] == []


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.each_case
def test_all_programs_stay(kind: str) -> None:
    assert [(way, sink) for way, sink, text in programs(kind) if converts(text)] == []
