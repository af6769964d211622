"""Ways in which variables and optimizers of SOK travel: which the converter follows (sok_ways.tsv), and what stays.

`python -m tests.support.source.sok_ways > tests/migrate/source/sok_ways.tsv` records what is followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.source.sok_ways import KINDS, SINKS, misused, misuses, verdicts
from tests.support.source.ways import FIRST, GENERAL, MORE, Way, converts

RECORDED = Path(__file__).parent / "sok_ways.tsv"


def recorded() -> dict[str, list[str]]:
    """Return the lines of sok_ways.tsv by way, its head under `way`."""
    rows = (line.split("\t") for line in RECORDED.read_text(encoding="utf-8").splitlines())
    return {row[0]: row[1:] for row in rows}


def compare(ways: Sequence[Way]) -> None:
    """Fail unless these ways are followed as sok_ways.tsv says."""
    known = recorded()
    changed = [
        f"{'LOST' if before == 'Y' else 'gained'}: {kind} by {way.name}"
        for way in ways
        for kind, before, after in zip(KINDS, known[way.name], verdicts(way), strict=True)
        if before != after
    ]
    assert not changed, "\n".join(sorted(changed))


def test_every_way_is_recorded() -> None:
    assert list(recorded()) == ["way", *(way.name for way in GENERAL)]
    assert recorded()["way"] == list(KINDS)


def test_a_sample_of_the_first_ways_is_followed() -> None:
    compare(FIRST[::4])


def test_a_sample_of_what_is_misused_stays() -> None:
    for kind, sinks in SINKS.items():
        for place, sink in enumerate(sinks):
            for way in FIRST[place :: len(sinks) * 2]:
                assert not converts(misused(kind, way, sink)), (kind, way.name, sink)


@pytest.mark.soak
def test_all_ways_are_followed_as_recorded() -> None:
    compare(FIRST + MORE)


@pytest.mark.soak
def test_whatever_is_misused_stays() -> None:
    assert not [(kind, way, sink) for kind, way, sink, text in misuses() if converts(text)]
