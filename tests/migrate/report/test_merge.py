"""Several reports on one page: nothing is lost, nothing is said twice, the worse stage stands."""

from __future__ import annotations

from dataclasses import replace

from migrate.report.merge import merge
from migrate.report.model import Comparison, Finding, InputFile, Location, Report, Stage, State, Verification

FINDING = Finding("tf-x", "table", State.UNSUPPORTED, Location("m.py", 3, 3), "table `t` stays", before="t = 1")
CONVERTED = Report(
    "migrate convert m.py",
    "0.1.0",
    inputs=(InputFile("m.py", "aa", "tensorflow", diff="-a\n+b\n"),),
    stages=(Stage("parse", "ok"), Stage("verify", "not run")),
    findings=(FINDING,),
)
PROOF = Report(
    "migrate verify m.py n.py",
    "0.1.0",
    inputs=(InputFile("m.py", "aa", "tensorflow"), InputFile("n.py", "bb", "tensorflow")),
    stages=(Stage("verify", "failed", "1 of 2 differ"),),
    verifications=(Verification("m.py", "n.py", (Comparison("loss", "l", 1, 0, 0, 1, 1e-5, 0, "equal"),)),),
)


def test_merge_keeps_every_part_once() -> None:
    joined = merge([CONVERTED, PROOF, CONVERTED])
    assert joined.findings == (FINDING,)
    assert [(item.path, item.diff) for item in joined.inputs] == [("m.py", "-a\n+b\n"), ("n.py", "")]
    assert joined.verifications == PROOF.verifications
    assert {stage.name: stage.state for stage in joined.stages} == {"parse": "ok", "verify": "failed"}
    assert joined.command.count("&&") == 2


def test_merge_does_not_let_a_later_ok_hide_a_failure() -> None:
    later = replace(PROOF, stages=(Stage("verify", "ok"),))
    assert merge([PROOF, later]).stages[0].state == "failed"
