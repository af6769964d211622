"""Layers of Keras are followed by the ways of `ways.py`, to their last use."""

from __future__ import annotations

import pytest

from tests.support.source.ways import FIRST, converts
from tests.support.source.ways_of_layers import FOLLOWED, SINKS, followed, programs


def test_the_first_ways_are_followed() -> None:
    names = followed(FIRST)
    assert len(names) == FOLLOWED, {way.name for way in FIRST} - {*names}


def test_a_sample_of_the_programs_stays() -> None:
    every = 4 * len(SINKS) + 1  # no common divisor with the number of uses: all of them are in the sample
    assert [(way, sink) for way, sink, text in [*programs()][::every] if converts(text)] == []


@pytest.mark.soak
def test_all_programs_stay() -> None:
    assert [(way, sink) for way, sink, text in programs() if converts(text)] == []
