"""A baseline tells what is new or worse, and cannot be fooled by a swap or a copy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.report import baseline, writers
from migrate.report.model import Finding, Report, State, with_ids
from tests.support.report_sample import finding

BAD = State.UNSUPPORTED


def of(*findings: Finding) -> Report:
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
    assert new_in(of(old), of(other), file) == []
    file.with_name("a.py").write_text("")  # so b.py is a copy, and this run does not look at a.py
    assert new_in(of(old), of(other), file) == ["m"]


def test_the_file_has_what_remains_and_no_code(file: Path) -> None:
    done = finding(message="a lookup that moved", before="a secret")
    assert baseline.write(of(done, finding(state=BAD, before="a secret")), str(file)) == "1 finding"
    assert "secret" not in file.read_text()
    assert "a lookup that moved" not in file.read_text()
    first = file.read_bytes()
    baseline.write(of(done, finding(state=BAD, before="a secret")), str(file))
    assert file.read_bytes() == first


def test_sarif_says_which_findings_the_baseline_has(file: Path) -> None:
    old, other = finding(state=BAD, message="old", path="a.py"), finding(state=BAD, message="other", path="b.py")
    baseline.write(of(old), str(file))
    marked = baseline.compare(baseline.read(str(file)), of(old, other)).marked
    results = json.loads(writers.render(marked, ".sarif"))["runs"][0]["results"]
    assert [(one["message"]["text"].partition(".")[0], one["baselineState"]) for one in results] == [
        ("old", "unchanged"),
        ("other", "new"),
    ]
    plain = json.loads(writers.render(of(old), ".sarif"))["runs"][0]["results"]
    assert not any("baselineState" in one for one in plain)


def test_a_baseline_that_is_missing_is_named_with_its_remedy(file: Path) -> None:
    with pytest.raises(MigrateError, match=r"known\.json: there is no baseline yet; write it with --update-baseline"):
        baseline.read(str(file))
