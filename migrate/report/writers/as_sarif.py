"""SARIF 2.1.0, with which code hosts show findings beside the lines that they concern."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from migrate.report import environment, words
from migrate.report.model import Finding, FlowStep, Location, Report, RuleRecord, State

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
    known = {rule.id: rule for rule in report.rules}
    described = [_rule(known.get(rule, RuleRecord(rule, ""))) for rule in rules]
    driver = {"name": "recmigrate", "version": report.tool_version, "rules": described}
    results = [_result(finding, rules.index(finding.rule)) for finding in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(rule: RuleRecord) -> dict[str, Any]:
    """Return the descriptor of a rule; one that no record describes has its id and a name made of it."""
    name = "".join(word.capitalize() for word in rule.id.split("-"))
    if not rule.title:
        return {"id": rule.id, "name": name}
    first = rule.text.partition("\n\n")[0]
    page = f"{rule.title}.\n\n{rule.text}\n\nExamples: `migrate rules explain {rule.id}`"
    url = environment.documentation()
    return {
        "id": rule.id,
        "name": name,
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": first or f"{rule.title}."},
        "help": {"text": page.replace("`", ""), "markdown": page},
        **({"helpUri": f"{url.rstrip('/')}/rules/{rule.id}.html"} if url else {}),
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    level = _LEVELS[finding.state]
    cell = words.file_of(finding.location)[1]
    where = f"{cell}, {words.line(finding.location)}" if cell else ""
    parts = (where, finding.message, finding.reason, words.came(finding), finding.action)
    text = ". ".join(part for part in parts if part)
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": level,
        "kind": "informational" if level == "none" else "fail",
        "message": {"text": text or finding.rule},
        "locations": [{"physicalLocation": _place(finding.location)}],
        "partialFingerprints": {"migrateFingerprint/v1": finding.id, "migrateFallback/v1": finding.fallback_id},
    }
    if finding.baseline:
        result["baselineState"] = finding.baseline
    if finding.steps:
        result["codeFlows"] = [{"threadFlows": [{"locations": [_step(step) for step in finding.steps]}]}]
    return result


def _step(step: FlowStep) -> dict[str, Any]:
    return {"location": {"physicalLocation": _place(step.location), "message": {"text": step.text}}}


def _place(location: Location) -> dict[str, Any]:
    path, cell = words.file_of(location)
    first = max(location.line, 1)
    region = {} if cell else {"region": {"startLine": first, "endLine": max(location.end_line, first)}}
    return {"artifactLocation": {"uri": quote(path, errors="replace")}, **region}
