"""SARIF 2.1.0, with which code hosts show findings beside the lines that they concern."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from migrate.report import words
from migrate.report.model import Finding, FlowStep, Location, Report, State

_LEVELS = {
    State.APPLIED: "none",
    State.NOTED: "none",
    State.AVAILABLE: "note",
    State.SUGGESTED: "warning",
    State.UNSUPPORTED: "error",
    State.OPAQUE: "warning",
    State.FAILED: "error",
}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    """Return the findings as one SARIF run; a finding that needs no work has the kind `informational`."""
    rules = sorted({finding.rule for finding in report.findings})
    driver = {"name": "recmigrate", "version": report.tool_version, "rules": [{"id": rule} for rule in rules]}
    results = [_result(finding, rules.index(finding.rule)) for finding in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(finding: Finding, index: int) -> dict[str, Any]:
    level = _LEVELS[finding.state]
    text = ". ".join(part for part in (finding.message, finding.reason, words.came(finding), finding.action) if part)
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": level,
        "kind": "informational" if level == "none" else "fail",
        "message": {"text": text or finding.rule},
        "locations": [{"physicalLocation": _place(finding.location)}],
        "partialFingerprints": {"migrateFingerprint/v1": finding.id, "migrateFallback/v1": finding.fallback_id},
    }
    if finding.steps:
        result["codeFlows"] = [{"threadFlows": [{"locations": [_step(step) for step in finding.steps]}]}]
    return result


def _step(step: FlowStep) -> dict[str, Any]:
    return {"location": {"physicalLocation": _place(step.location), "message": {"text": step.text}}}


def _place(location: Location) -> dict[str, Any]:
    first = max(location.line, 1)
    region = {"startLine": first, "endLine": max(location.end_line, first)}
    return {"artifactLocation": {"uri": quote(location.path, errors="replace")}, "region": region}
