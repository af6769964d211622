"""Ways in which a value travels, or a layer of Keras: which of them the converter follows (ways.tsv).

A value that was followed and is no longer is a loss. One that is followed anew is written into the file, so that the
gain is seen: `python -m tests.support.source.ways > tests/migrate/source/ways.tsv`.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Sequence

import pytest

from tests.support.source.ways import ALL, FIRST, GENERAL, KINDS, MORE, Way, converts, recorded, verdicts
from tests.support.source.ways_of_layers import FOLLOWED, SINKS, followed, programs


class Value:
    """What travels where the ways are tried."""


def test_every_way_is_recorded() -> None:
    assert list(recorded()) == ["way", *(way.name for way in GENERAL)]
    assert recorded()["way"] == list(KINDS)
    assert len({way.name for way in ALL}) == len(ALL)


def test_a_way_leads_to_its_value() -> None:
    modules = {"functools": functools, "collections": collections, "dataclasses": dataclasses}
    for way in GENERAL:
        value = Value()
        names: dict[str, object] = {"__name__": "__main__", "the_value": value, **modules}
        one = way.given("the_value")
        exec(f"{one.definitions}{one.binding}got = {one.read}\n", names)
        assert names["got"] is value, way.name


def test_each_other_of_the_first_ways_is_followed_as_recorded() -> None:
    compare(FIRST[::2])


@pytest.mark.soak
def test_all_other_ways_are_followed_as_recorded() -> None:
    compare(FIRST[1::2] + MORE)


def compare(ways: Sequence[Way]) -> None:
    """Fail, with all kinds that were lost or gained, unless these ways are followed as ways.tsv says."""
    known = recorded()
    changed = [
        f"{'LOST' if before == 'Y' else 'gained'}: {kind} by {way.name}"
        for way in ways
        for kind, before, after in zip(KINDS, known[way.name], verdicts(way), strict=True)
        if before != after
    ]
    assert not changed, "\n".join(sorted(changed))


def test_the_first_ways_are_followed() -> None:
    names = followed(FIRST)
    assert len(names) == FOLLOWED, {way.name for way in FIRST} - {*names}


def test_a_sample_of_the_programs_stays() -> None:
    every = 4 * len(SINKS) + 1  # no common divisor with the number of uses: all of them are in the sample
    assert [(way, sink) for way, sink, text in [*programs()][::every] if converts(text)] == []


@pytest.mark.soak
def test_all_programs_stay() -> None:
    assert [(way, sink) for way, sink, text in programs() if converts(text)] == []
