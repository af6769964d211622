"""A baseline: the findings that are known, against which `migrate check` tells what is new or worse.

It is a report with nothing but the findings that remain: `migrate report` reads it, and it changes only when they do.
Findings are matched one to one, as `migrate report diff` does: a fixed finding never makes room for a new one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from migrate.errors import MigrateError
from migrate.report.diff import Change, Kind, compare_findings
from migrate.report.files import write_atomically
from migrate.report.model import Finding, Report, with_ids
from migrate.report.serialize import read_report, to_json
from migrate.report.summary import plural


@dataclass(frozen=True)
class Compared:
    """A report against a baseline."""

    marked: Report  #: the report, whose findings say whether the baseline has them
    shown: Report  #: the report, with nothing but the findings that are new or worse
    known: int  #: number of remaining findings that the baseline has
    fixed: int  #: number of findings of the baseline that are gone

    def sentence(self, path: str) -> str:
        """Return e.g. `baseline known.json: 3 findings known, 1 finding new or worse, 2 fixed`."""
        new = len(self.shown.findings)
        text = f"baseline {path}: {plural(self.known, 'finding')} known, {plural(new, 'finding')} new or worse"
        return f"{text}, {self.fixed} fixed or not looked at" if self.fixed else text


def read(path: str) -> Report:
    """Return the baseline in a file; raises MigrateError for a file that is missing or no report."""
    if not Path(path).exists():
        raise MigrateError(f"{path}: there is no baseline yet; write it with --update-baseline")
    return read_report(path)


def write(report: Report, path: str) -> str:
    """Write the remaining findings of a report as a baseline, and return their number in words."""
    left = tuple(_kept(finding) for finding in _identified(report) if finding.remains)
    kept = Report(report.command, report.tool_version, findings=left, environment=())
    write_atomically(Path(path), to_json(kept))
    return plural(len(left), "finding")


def compare(baseline: Report, report: Report) -> Compared:
    """Return what a report has beyond the baseline."""
    report = replace(report, findings=_identified(report))
    worse = {change.after.id for change in compare_findings(baseline, report) if change.after and _is_new(change)}
    kinds = Counter(change.kind for change in compare_findings(baseline, report))
    left = [finding for finding in report.findings if finding.remains]
    shown = tuple(finding for finding in report.findings if finding.id in worse)
    marked = tuple(replace(one, baseline="new" if one.id in worse else "unchanged") for one in report.findings)
    return Compared(
        replace(report, findings=marked),
        replace(report, findings=shown),
        len(left) - sum(f.remains for f in shown),
        kinds[Kind.FIXED],
    )


def _is_new(change: Change) -> bool:
    """True for a finding that must be told: also for a copy of known code, whose original is still there."""
    if change.worse:
        return True
    copied = change.kind is Kind.MOVED and change.before is not None and Path(change.before.location.path).exists()
    return copied and change.after is not None and change.after.remains


def _identified(report: Report) -> tuple[Finding, ...]:
    return report.findings if all(finding.id for finding in report.findings) else with_ids(report.findings)


def _kept(finding: Finding) -> Finding:
    """Return a finding without the texts that change with code around it."""
    return replace(finding, before="", after="", drawing=None, steps=(), baseline="")
