"""Workflow commands of GitHub Actions, which show what remains beside the lines of a pull request."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from migrate.report import summary, words
from migrate.report.model import Finding, Report, State
from migrate.report.visible import one_line

_LEVELS = {
    State.UNSUPPORTED: "error",
    State.FAILED: "error",
    State.OPAQUE: "warning",
    State.SUGGESTED: "warning",
    State.AVAILABLE: "notice",
    State.NOTED: "notice",
}
_ORDER = ("error", "warning", "notice")


def render(report: Report) -> str:
    """Return one command a line: what blocks first, because GitHub shows ten of each level and step."""
    findings = [finding for finding in report.findings if finding.state in _LEVELS]
    findings.sort(key=lambda finding: _ORDER.index(_LEVELS[finding.state]))
    return "".join(f"{line}\n" for line in (*map(command, findings), *_proofs(report)))


def command(finding: Finding) -> str:
    """Return the command for a finding."""
    path, cell = words.file_of(finding.location)
    place = {"file": _from_root(path)}
    if finding.location.line and not cell:
        place |= {"line": str(finding.location.line), "endLine": str(finding.location.end_line)}
    place["title"] = f"{words.verdict(finding)} ({finding.rule})"
    where = f"{cell}, {words.line(finding.location)}" if cell else ""
    reason = f": {finding.reason}" if finding.reason else ""
    said = f"{f'{where}: ' if where else ''}{finding.message}{reason}"
    parts = (said, words.came(finding), finding.action)
    return _command(_LEVELS[finding.state], place, "; ".join(one_line(part) for part in parts if part))


def _proofs(report: Report) -> Iterator[str]:
    for item in report.verifications:
        if not item.passed:
            place = {"file": _from_root(item.original), "title": "verification"}
            yield _command("error", place, one_line(summary.proof(item)))


def _command(level: str, place: dict[str, str], text: str) -> str:
    """Return a workflow command; characters that would end a value are escaped as GitHub's own tools do."""
    properties = ",".join(f"{key}={_escaped(one_line(value), ':,')}" for key, value in place.items())
    return f"::{level} {properties}::{_escaped(text)}"


def _escaped(text: str, special: str = "") -> str:
    for character in f"%\r\n{special}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _from_root(path: str) -> str:
    """Return the path as GitHub wants it: from the root of the repository, if the command ran below that."""
    root = os.environ.get("GITHUB_WORKSPACE", "")
    full = Path.cwd() / path
    return full.relative_to(root).as_posix() if root and full.is_relative_to(root) else path
