"""The first screen: what was converted, whether it is proven, what to do next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from migrate.report import answer
from migrate.report.model import Applicability, Report, State, Verification
from tests.support.report_sample import comparison, finding, report

CONVERTED = replace(report(), tables=report().tables[:1], verifications=())
AGREES = Verification("a", "b", (comparison("loss", "x", error=1e-9), comparison("loss", "y", error=3e-7)))
FOUND = (finding(state=State.AVAILABLE),)
DONE = (finding(applicability=Applicability.EXACT),)


def told(whole: Report) -> dict[str, str]:
    return {line.label: line.text for line in answer.lines(whole)}


def test_tables_are_named_by_their_verdict() -> None:
    assert told(report())["Tables"] == "converted: `user`; left unchanged: `item`; needs a decision: `genre`"
    many = replace(report(), tables=tuple(replace(report().tables[0], name=f"t{at}") for at in range(9)))
    assert told(many)["Tables"] == "converted: `t0`, `t1`, `t2`, `t3`, `t4`, `t5` and 3 more"


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


@pytest.mark.parametrize(
    ("whole", "said", "link"),
    [
        (report(), "Give the output layer a variable of its own, or keep `item` a variable (and 2 more)", "work"),
        (replace(CONVERTED, findings=FOUND), "run `migrate convert`: it makes 1 edit", "work"),
        (replace(CONVERTED, findings=DONE), "prove it: `migrate verify ORIGINAL CONVERTED`", ""),
        (replace(CONVERTED, findings=DONE, verifications=(AGREES,)), "nothing is left to do", ""),
        (replace(report(), findings=DONE), "look for the first rung of the proof that differs", "proof"),
        (Report("c", "1"), "nothing is left to do", ""),
    ],
    ids=["remaining", "available", "not proven", "proven", "differs", "empty"],
)  # fmt: skip
def test_what_to_do_next(whole: Report, said: str, link: str) -> None:
    (line,) = [one for one in answer.lines(whole) if one.label == "Next"]
    assert line.text.startswith(said)
    assert line.link == link
    assert (line.finding is None) is (link != "work" or "edit" in said)
