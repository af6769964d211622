"""The JSON Schema that is printed holds for what is written, and for nothing that could not be read back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.report import json_schema
from migrate.report.model import RuleRecord, Verification
from migrate.report.serialize import to_json
from rewriter.plan.region import Arrow, Box, Region
from tests.support.json_schema import problems
from tests.support.report_sample import comparison, report


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
