"""The findings of a report grouped by file, as the writers show them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from migrate.report.model import Finding, InputFile, Report
from migrate.report.summary import Tally


@dataclass(frozen=True)
class FileView:
    """One file with its findings in source order."""

    file: InputFile
    findings: tuple[Finding, ...]

    @property
    def tally(self) -> Tally:
        """Counts of this file's findings."""
        return Tally.of_findings(self.findings)


def per_file(report: Report) -> Iterator[FileView]:
    """Yield every input, then every other file that has findings, each with its findings by line.

    Files that were only read (a schema, the files of a verification) are omitted when they have no findings.
    """
    findings: dict[str, list[Finding]] = {}
    for finding in report.findings:
        findings.setdefault(finding.location.path, []).append(finding)
    inputs = {item.path: item for item in report.inputs}
    for path in findings:
        inputs.setdefault(path, InputFile(path, "", ""))
    converting = bool(report.findings) or not report.verifications
    for path, item in inputs.items():
        if path not in findings and not item.diff and (item.kind == "schema" or not converting):
            continue
        yield FileView(item, tuple(sorted(findings.get(path, []), key=lambda finding: finding.location.line)))
