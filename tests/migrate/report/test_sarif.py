"""SARIF against what its schema and its specification (2.1.0) demand of the parts that are written."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import metadata
from typing import Any

import pytest

from migrate.report import writers
from migrate.report.model import Location, Report, State
from migrate.source.rules.records import described
from tests.support.json_schema import problems
from tests.support.report_sample import finding, report

TEXT = {"type": "string", "minLength": 1}
#: The characters of a URI reference (RFC 3986); everything else is written as %XX.
REFERENCE = {"type": "string", "pattern": r"^(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+$"}


def obj(required: str = "", **properties: Any) -> dict[str, Any]:
    """Return an object of the schema, which allows no further properties there."""
    return {
        "type": "object", "properties": properties, "required": required.split(), "additionalProperties": False,
    }  # fmt: skip


LINE = {"type": "integer", "minimum": 1}
MESSAGE = obj("text", text=TEXT, markdown=TEXT)
PLACE = obj(
    "artifactLocation",
    artifactLocation=obj("uri", uri=REFERENCE),
    region=obj("startLine", startLine=LINE, endLine=LINE),
)
THREAD = obj(
    "locations",
    locations={
        "type": "array",
        "minItems": 1,
        "items": obj(location=obj(physicalLocation=PLACE, message=MESSAGE)),
    },
)
RULE = obj(
    "id",
    id=TEXT,
    name={**TEXT, "pattern": "^[A-Z][A-Za-z0-9]*$"},
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    helpUri={"type": "string", "pattern": "^https?://[^ ]+$"},
)
RESULT = obj(
    "message ruleId ruleIndex level kind locations",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    kind={"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
    message=MESSAGE,
    locations={"type": "array", "items": obj(physicalLocation=PLACE)},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
    baselineState={"enum": ["new", "unchanged", "updated", "absent"]},
    codeFlows={
        "type": "array",
        "items": obj("threadFlows", threadFlows={"type": "array", "minItems": 1, "items": THREAD}),
    },
)
DRIVER = obj("name", name=TEXT, version=TEXT, rules={"type": "array", "uniqueItems": True, "items": RULE})
RUN = obj(
    "tool results",
    tool=obj("driver", driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": RESULT},
)
LOG = obj(
    "version runs",
    **{"$schema": REFERENCE},
    version={"enum": ["2.1.0"]},
    runs={"type": "array", "minItems": 1, "items": RUN},
)


def log(whole: Report) -> dict[str, Any]:
    """Return a report as SARIF, of which all that is demanded holds."""
    found: dict[str, Any] = json.loads(writers.render(whole, ".sarif"))
    assert list(problems(LOG, found)) == []
    run = found["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["kind"] == "fail" or result["level"] == "none"  # 3.27.9
        for place in result["locations"]:
            region = place["physicalLocation"].get("region", {"startLine": 1, "endLine": 1})
            assert region["endLine"] >= region["startLine"]
    return found


def test_every_kind_of_finding_is_valid() -> None:
    log(report())
    strange = finding(path="a b/ü\udcff%.py", message="", state=State.FAILED)
    whole = replace(strange, location=Location(strange.location.path, 0, 0))
    assert log(Report("c", "1", findings=(whole,)))["runs"][0]["results"][0]["message"]["text"] == whole.rule


def test_rules_say_what_they_are_about(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = described(report())
    assert {rule.id for rule in whole.rules} == {"tf-embedding-lookup", "tf-optimizer"}
    rules = {rule["id"]: rule for rule in log(whole)["runs"][0]["tool"]["driver"]["rules"]}
    assert rules["opaque-getattr"] == {"id": "opaque-getattr", "name": "OpaqueGetattr"}  # no record describes it
    told = rules["tf-embedding-lookup"]
    assert told["shortDescription"]["text"] == f"{whole.rules[0].title}."
    assert told["fullDescription"]["text"] == whole.rules[0].text.partition("\n\n")[0]
    assert "`migrate rules explain tf-embedding-lookup`" in told["help"]["markdown"]
    assert "`" not in told["help"]["text"]
    assert "helpUri" not in told  # the package names no documentation

    named = metadata.metadata("recmigrate")
    named["Project-URL"] = "Documentation, https://docs.example.org/recmigrate/"
    monkeypatch.setattr(metadata, "metadata", lambda name: named)
    told = log(whole)["runs"][0]["tool"]["driver"]["rules"][1]
    assert told["helpUri"] == "https://docs.example.org/recmigrate/rules/tf-embedding-lookup.html"


def test_a_place_in_a_notebook_is_a_place_in_its_file() -> None:
    whole = Report("c", "1", findings=(finding(path="my notes.ipynb:cell 5f3a", line=2),))
    (result,) = log(whole)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "my%20notes.ipynb"}}
    assert result["message"]["text"].startswith("cell 5f3a, line 2. ")
