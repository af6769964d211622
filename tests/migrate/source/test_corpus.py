"""Whole programs get the verdicts that their golden files say.

A change that is meant is written by `python -m tests.support.source.corpus`; the diff of the files is then reviewed.
"""

from __future__ import annotations

import pytest

from tests.support.source.corpus import HERE, grouped, reported

GROUPS = grouped()


def test_every_report_has_its_programs() -> None:
    assert {path.stem for path in HERE.glob("*.txt")} == set(GROUPS)
    assert sum(len(members) for members in GROUPS.values()) > 50


@pytest.mark.each_case
@pytest.mark.parametrize("group", GROUPS)
def test_reports_are_as_recorded(group: str) -> None:
    recorded = reported(group).read_text(encoding="utf-8")
    assert "\n".join(one.report() for one in GROUPS[group]) == recorded
