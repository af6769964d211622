"""`migrate report`: classes of a diff, baselines, exit codes; no swap of one finding for another is hidden."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from migrate.cli.report import report as command
from migrate.errors import MigrateError
from migrate.report import baseline, diff_show, writers
from migrate.report.model import Applicability, Finding, InputFile, Report, State, Verification, with_ids
from tests.support.report_sample import comparison, finding, report

BAD = State.UNSUPPORTED
EXACT = Applicability.EXACT


def of(*findings: Finding, version: str = "1", checks: tuple[Verification, ...] = ()) -> Report:
    return Report("migrate convert a.py", version, findings=with_ids(findings), verifications=checks)


def classes(old: Report, new: Report) -> tuple[list[str], int]:
    result = diff_show.compare(old, new)
    assert len(result.changes) >= max(len(old.findings), len(new.findings))
    return [change.kind.value for change in result.changes], result.exit_code


def proof(*verdicts: str, original: str = "a.py", converted: str = "out/a.py") -> Verification:
    items = tuple(comparison("gradient", f"w{at}", verdict) for at, verdict in enumerate(verdicts) if verdict)
    return Verification(original, converted, items)


@pytest.mark.parametrize(
    ("old", "new", "kinds", "code"),
    [
        ([], [], [], 0),
        ([finding(state=BAD)], [finding(state=BAD, line=90)], ["unchanged"], 0),
        ([], [finding(state=BAD)], ["new"], 1),
        ([], [finding(state=State.SUGGESTED)], ["new"], 1),
        ([], [finding(applicability=EXACT)], ["new"], 0),
        ([finding(state=BAD)], [], ["fixed"], 0),
        ([finding(state=BAD)], [finding(applicability=EXACT)], ["updated"], 0),
        ([finding(applicability=EXACT)], [finding(state=BAD)], ["updated"], 1),
        ([finding(state=State.SUGGESTED)], [finding(state=BAD)], ["updated"], 1),
        ([finding(applicability=EXACT)], [finding(applicability=Applicability.CHANGES_VALUES)], ["updated"], 1),
        ([finding(state=BAD)], [finding(state=BAD, path="b.py")], ["moved"], 0),
        ([finding(applicability=EXACT)], [finding(state=BAD, path="b.py")], ["moved"], 1),
        ([finding(state=BAD)], [finding(state=BAD), finding(state=BAD)], ["new", "unchanged"], 1),
    ],
)
def test_classes_and_exit_codes(old: list[Finding], new: list[Finding], kinds: list[str], code: int) -> None:
    assert classes(of(*old), of(*new)) == (kinds, code)


@pytest.mark.parametrize(
    ("old", "new", "kinds", "code"),
    [
        (proof("equal"), proof("equal"), ["unchanged"], 0),
        (proof("equal"), proof("differs"), ["new"], 1),
        (proof("differs"), proof("equal"), ["fixed"], 0),
        (proof("equal"), proof(""), ["new"], 1),
        (proof("differs"), proof(""), ["fixed"], 0),
        (proof(""), proof("differs"), ["new"], 1),
        (proof("differs", "equal"), proof("equal", "differs"), ["new", "fixed"], 1),
        (proof("equal"), proof("differs", converted="elsewhere/a.py"), ["new"], 1),
        (proof("equal"), proof("equal", original="src/a.py"), ["unchanged"], 0),
    ],
)
def test_comparisons(old: Verification, new: Verification, kinds: list[str], code: int) -> None:
    result = diff_show.compare(of(checks=(old,)), of(checks=(new,)))
    assert [change.kind.value for change in result.proofs] == kinds
    assert result.exit_code == code


def test_a_proof_that_is_gone_is_worse() -> None:
    result = diff_show.compare(of(checks=(proof("equal"),)), of())
    assert [change.text for change in result.proofs] == ["equal -> not compared"]
    assert result.exit_code == 1


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    writers.write(report(), tmp_path / "a.json")
    worse = with_ids([*report().findings, finding(state=BAD, before="fresh()", message="a new trouble")])
    writers.write(replace(report(), findings=worse), tmp_path / "b.json")
    return tmp_path


def test_diff_command(files: Path) -> None:
    same = run("diff", files / "a.json", files / "a.json")
    assert (same.exit_code, same.stdout.splitlines()[-1]) == (0, "verdict: no remaining finding is new or worse")
    worse = run("diff", files / "a.json", files / "b.json")
    assert worse.exit_code == 1
    assert "! new: model.py:12: left unchanged: a new trouble [tf-embedding-lookup]" in worse.stdout
    assert worse.stdout.endswith("verdict: 1 result is new or worse\n")
    assert run("diff", files / "b.json", files / "a.json").exit_code == 0


def test_findings_of_a_file_that_was_not_looked_at_are_not_fixed() -> None:
    inputs = (InputFile("a.py", "", "tensorflow"), InputFile("b.py", "", "tensorflow"))
    old = replace(of(finding(state=BAD, path="a.py"), finding(state=BAD, path="b.py", message="m")), inputs=inputs)
    new = replace(of(), inputs=inputs[:1])
    assert classes(old, new) == (["fixed", "unseen"], 0)
    assert "findings: 0 new, 0 updated, 0 moved, 1 fixed, 1 unseen, 0 unchanged" in diff_show.to_text(
        diff_show.compare(old, new)
    )


def test_diff_command_as_json(files: Path) -> None:
    result = run("diff", files / "a.json", files / "b.json", "--format", "json")
    data = json.loads(result.stdout)
    assert result.exit_code == 1
    assert data["counts"] == {"new": 1, "updated": 0, "moved": 0, "fixed": 0, "unseen": 0, "unchanged": 8}
    assert data["worse"] == 1 and data["findings"][0]["class"] == "new"
    assert len(data["comparisons"]) == 10


def test_what_cannot_be_compared(files: Path) -> None:
    data = json.loads((files / "a.json").read_text())
    data["schema"]["major"] = 2
    (files / "new.json").write_text(json.dumps(data))
    for other in ("new.json", "none.json"):
        result = run("diff", files / "a.json", files / other)
        assert isinstance(result.exception, MigrateError)  # `migrate` prints it and exits with 2
        assert result.stdout == ""
    assert run("diff", files / "a.json").exit_code == 2
    assert run("diff", files / "a.json", files / "b.json", "--format", "xml").exit_code == 2


def reported(*findings: Finding) -> Report:
    return Report("migrate check src", "1", findings=with_ids(findings))


def new_in(known: Report, found: Report, path: Path) -> list[str]:
    """Write the one as a baseline, and return what the other has beyond it."""
    baseline.write(known, str(path))
    return [one.message for one in baseline.compare(baseline.read(str(path)), found).shown.findings]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "known.json"


def test_a_copy_is_new_and_a_renamed_file_is_not(file: Path) -> None:
    old, other = finding(state=BAD, message="m", path="a.py"), finding(state=BAD, message="m", path="b.py")
    assert new_in(reported(old), reported(other), file) == []
    file.with_name("a.py").write_text("")  # so b.py is a copy, and this run does not look at a.py
    assert new_in(reported(old), reported(other), file) == ["m"]


def test_the_file_has_what_remains_and_no_code(file: Path) -> None:
    done = finding(message="a lookup that moved", before="a secret")
    assert baseline.write(reported(done, finding(state=BAD, before="a secret")), str(file)) == "1 finding"
    assert "secret" not in file.read_text()
    assert "a lookup that moved" not in file.read_text()
    first = file.read_bytes()
    baseline.write(reported(done, finding(state=BAD, before="a secret")), str(file))
    assert file.read_bytes() == first


def test_sarif_says_which_findings_the_baseline_has(file: Path) -> None:
    old, other = finding(state=BAD, message="old", path="a.py"), finding(state=BAD, message="other", path="b.py")
    baseline.write(reported(old), str(file))
    marked = baseline.compare(baseline.read(str(file)), reported(old, other)).marked
    results = json.loads(writers.render(marked, ".sarif"))["runs"][0]["results"]
    assert [(one["message"]["text"].partition(".")[0], one["baselineState"]) for one in results] == [
        ("old", "unchanged"),
        ("other", "new"),
    ]
    plain = json.loads(writers.render(reported(old), ".sarif"))["runs"][0]["results"]
    assert not any("baselineState" in one for one in plain)


def test_a_baseline_that_is_missing_is_named_with_its_remedy(file: Path) -> None:
    with pytest.raises(MigrateError, match=r"known\.json: there is no baseline yet; write it with --update-baseline"):
        baseline.read(str(file))
