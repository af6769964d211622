"""Training that is not the plain one: converted by no way if its direct form, under one name, has to stay."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.support.source.otherwise_trained import SUBJECTS, programs
from tests.support.source.ways import FIRST, converts

SINKS = sum(len(sinks) for sinks in SUBJECTS.values())
EVERY = 2 * SINKS + 1  #: of the sample; no common divisor with the number of sinks, so that all of them are in it


def wrongly_converted(chosen: Iterable[tuple[str, str, str, str]]) -> set[tuple[str, str, str]]:
    """Return subject, sink and way of the programs that are converted and must not be."""
    return {
        (subject, sink, way)
        for subject, sink, way, text in chosen
        if not SUBJECTS[subject][sink].converts and converts(text)
    }


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.each_case
def test_the_direct_forms(subject: str) -> None:
    verdicts = {name: converts(sink.program(FIRST[0])) for name, sink in SUBJECTS[subject].items()}
    assert verdicts == {name: sink.converts for name, sink in SUBJECTS[subject].items()}, (
        "run what is converted anew, before and after, and compare before its `converts` is changed"
    )


def test_a_sample_of_the_programs_stays() -> None:
    sample = list(programs())[::EVERY]
    assert len({(subject, sink) for subject, sink, _, _ in sample}) == SINKS
    assert not wrongly_converted(sample)


@pytest.mark.soak
def test_all_programs_stay() -> None:
    assert not wrongly_converted(programs())
