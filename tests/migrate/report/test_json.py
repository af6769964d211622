"""JSON: round trip, equal bytes, its schema, and one clear sentence for every way a file can be wrong."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.errors import MigrateError
from migrate.report import diff_show, json_schema, serialize, writers
from migrate.report.model import Report, RuleRecord, State, Verification
from migrate.report.serialize import to_json
from rewriter.plan.region import Arrow, Box, Region
from tests.support.json_schema import problems
from tests.support.report_sample import comparison, finding, report


def test_round_trip(tmp_path: Path) -> None:
    writers.write(report(), tmp_path / "r.json")
    back = serialize.read_report(tmp_path / "r.json")
    assert back == report()
    assert back.environment == report().environment


def test_equal_reports_give_equal_bytes_and_only_the_environment_differs(tmp_path: Path) -> None:
    one = replace(report(), environment=(("python", "3.11"),))
    two = replace(report(), environment=(("python", "3.12"),))
    a, b = serialize.to_data(one), serialize.to_data(two)
    assert a.pop("environment") != b.pop("environment")
    assert json.dumps(a) == json.dumps(b)
    for name in ("a.json", "b.json"):
        writers.write(replace(report(), environment=None), tmp_path / name)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_the_environment_names_no_host_clock_or_path() -> None:
    facts = writers.prepared(replace(report(), environment=None)).environment
    assert facts is not None
    assert {"python", "platform"} <= {name for name, _ in facts}
    assert not any("/" in value for _, value in facts)


def test_the_summary_has_the_remaining_work_in_order() -> None:
    data = serialize.to_data(report())
    texts = {finding["id"]: finding for finding in data["findings"]}
    left = [
        (texts[one["finding"]]["state"], texts[one["finding"]]["location"]["line"], one["do"])
        for one in data["summary"]["remaining"]
    ]
    assert [(state, line) for state, line, _ in left] == [("unsupported", 61), ("opaque", 77), ("suggested", 30)]
    assert left[1][2] == "Call the function by its name"
    checked = serialize.to_data(Report("c", "1", findings=(finding(state=State.AVAILABLE),)))
    assert checked["summary"]["remaining"] == [{"finding": "", "do": "run `migrate convert`: it makes 1 edit"}]


def broken(change: Any) -> Any:
    data = json.loads(serialize.to_json(report()))
    change(data)
    return data


def _series(data: Any) -> Any:
    compared = [one for proof in data["verification"] for one in proof["comparisons"]]
    return next(one["series"][0] for one in compared if one["series"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("schema"), "is not a migrate report"),
        (lambda d: d["schema"].update(major=2), "upgrade recmigrate"),
        (lambda d: d["schema"].update(major=0), "write the report again with this version"),
        (lambda d: d.pop("findings"), "`findings` is missing"),
        (lambda d: d["findings"][3].pop("rule"), "`findings[3].rule` is missing"),
        (lambda d: d["findings"][0].update(state="done"), "`findings[0].state` is 'done', not one of applied"),
        (lambda d: d["findings"][1]["location"].update(line="3"), "`findings[1].location.line` must be a number"),
        (lambda d: d["findings"][1].update(message=None), "`findings[1].message` must be text"),
        (lambda d: d.update(tables=[7]), "`tables[0]` must be an object"),
        (lambda d: _series(d)["converted"].pop(), "series[0]` has another number of losses for one program than"),
        (lambda d: d.update(environment=[]), "`environment` must be an object"),
    ],
)
def test_a_damaged_report_is_one_sentence(change: Any, said: str) -> None:
    with pytest.raises(MigrateError) as caught:
        serialize.from_data(broken(change), "r.json")
    assert said in str(caught.value)
    assert "r.json" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"null", b"[]", b'"x"', b"7"])
def test_what_is_no_report_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(MigrateError, match=r"x\.json.* is not "):
        serialize.read_report(tmp_path / "x.json")


def test_a_report_of_an_earlier_version_is_read() -> None:
    """Reports of 1.5 have no losses, no errors to float64 and no memory."""

    def older(data: Any) -> None:
        data["schema"]["minor"] = 5
        del data["summary"]["remaining"], data["verification"][0]["memory"]
        for one in data["verification"][0]["comparisons"]:
            del one["series"], one["original_error"], one["converted_error"]

    read = serialize.from_data(broken(older), "r")
    assert read.findings == report().findings
    assert [one.series for one in read.verifications[0].comparisons] == [()] * 10
    assert read.verifications[0].memory == ()
    assert diff_show.compare(read, report()).exit_code == 0


def written() -> Any:
    """Return a report with everything in it, as JSON."""
    region = Region("t", (Box(("a",), "Gather", "kept"),), (Arrow(0, 0, "added"),))
    findings = (replace(report().findings[0], drawing=region), *report().findings[1:])
    broken = Verification("a", "b", (comparison("loss", "x", error=math.inf),))
    whole = replace(report(), findings=findings, rules=(RuleRecord("a-b", "T"),))
    return json.loads(to_json(replace(whole, verifications=(*whole.verifications, broken))))


def test_what_is_printed_holds_for_what_is_written() -> None:
    printed = CliRunner().invoke(cli, ["report", "schema"]).stdout
    assert list(problems(json.loads(printed), written())) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("findings"), "$: has no `findings`"),
        (lambda d: d["schema"].update(major=2), "$.schema.major: 2 is not 1"),
        (lambda d: d["findings"][0].update(state="done"), "$.findings[0].state: 'done' is none of"),
        (lambda d: d["findings"][0]["drawing"].update(boxes=3), "$.findings[0].drawing: {"),
        (
            lambda d: d["verification"][0]["comparisons"][0].update(max_abs="x"),
            ".max_abs: 'x' is as none",
        ),
    ],
)
def test_what_cannot_be_read_back_is_not_valid(change: Any, said: str) -> None:
    data = written()
    change(data)
    found = list(problems(json_schema.schema(), data))
    assert len(found) == 1, found
    assert said in found[0]
