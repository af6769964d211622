"""What holds a table and reaches code that is not read, or is read without a name: verdicts of today (escapes.tsv).

A `Y` is a table that becomes dynamic although such code gets an object that holds it, and may use all of its rows; `a`
is one under an assumption. None may be added. Where one is taken out, the file is written anew:
`python -m tests.support.source.escapes > tests/migrate/source/escapes.tsv`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.source.escapes import ESCAPES, HOLDERS, verdicts

RECORDED = Path(__file__).parent / "escapes.tsv"
SAMPLE = ("object", "class", "dict")


def recorded() -> dict[str, list[str]]:
    """Return the lines of escapes.tsv by holder, its head under `holder`."""
    rows = (line.split("\t") for line in RECORDED.read_text(encoding="utf-8").splitlines())
    return {row[0]: row[1:] for row in rows}


def test_every_holder_is_recorded() -> None:
    assert list(recorded()) == ["holder", *HOLDERS]
    assert recorded()["holder"] == list(ESCAPES)


def test_the_most_frequent_holders() -> None:
    compare(SAMPLE)


@pytest.mark.soak
def test_all_other_holders() -> None:
    compare([holder for holder in HOLDERS if holder not in SAMPLE])


def compare(holders: Sequence[str]) -> None:
    """Fail, with all that has changed, unless these holders are judged as escapes.tsv says."""
    known = recorded()
    changed = [
        f"{holder} by {escape}: {before} is now {after}"
        for holder in holders
        for escape, before, after in zip(ESCAPES, known[holder], verdicts(holder), strict=True)
        if before != after
    ]
    assert not changed, "\n".join(sorted(changed))
