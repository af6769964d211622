"""The first screen: what was converted, whether it is proven, what to do next."""

from __future__ import annotations

from dataclasses import replace

from migrate.report import answer
from migrate.report.model import Report, Verification
from tests.support.report_sample import comparison, report

AGREES = Verification("a", "b", (comparison("loss", "x", error=1e-9), comparison("loss", "y", error=3e-7)))


def told(whole: Report) -> dict[str, str]:
    return {line.label: line.text for line in answer.lines(whole)}


def test_the_proof_names_what_is_nearest_to_its_tolerance_or_beyond_it() -> None:
    agrees = told(replace(report(), verifications=(AGREES, AGREES)))["Proof"]
    assert agrees == (
        "4 of 4 comparisons equal; the nearest to its tolerance is `y`: an error of 3e-07 where 1e-05 is tolerated"
    )
    assert (
        "7 of 10 comparisons equal; the worst is `dense/kernel`: differs, an error of 0.0032" in told(report())["Proof"]
    )
    nothing = replace(report(), verifications=(Verification("a", "b", ()),))
    assert told(nothing)["Proof"] == "nothing was compared, so nothing is proven"
