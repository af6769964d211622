"""The difference of two reports, with its counts and exit code, as text or JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from migrate.report import words
from migrate.report.diff import Change, Kind, compare_findings
from migrate.report.diff_proof import ProofChange, compare_proofs
from migrate.report.model import Report
from migrate.report.summary import plural
from migrate.report.visible import one_line


@dataclass(frozen=True)
class ReportDiff:
    """Everything that differs between two reports."""

    changes: tuple[Change, ...]
    proofs: tuple[ProofChange, ...]
    notes: tuple[str, ...]  #: limits of the comparison: other inputs, another tool version, another command

    @property
    def worse(self) -> int:
        """How many findings and comparisons are new or worse than before."""
        return sum(change.worse for change in self.changes) + sum(change.worse for change in self.proofs)

    @property
    def exit_code(self) -> int:
        """1 when something is new or worse, else 0."""
        return 1 if self.worse else 0


def compare(old: Report, new: Report) -> ReportDiff:
    """Return the difference of two reports."""
    return ReportDiff(compare_findings(old, new), compare_proofs(old, new), tuple(_notes(old, new)))


def _notes(old: Report, new: Report) -> Iterator[str]:
    if old.tool_version != new.tool_version:
        versions = f"{old.tool_version} and {new.tool_version}"
        yield f"the reports come from versions {versions}: `fixed` may only mean that a rule changed"
    if old.command.split()[:2] != new.command.split()[:2]:
        yield f"the reports come from different commands: `{one_line(old.command)}` and `{one_line(new.command)}`"
    before, after = ({item.path: item.sha256 for item in report.inputs} for report in (old, new))
    for paths, what in (
        (sorted(before.keys() - after.keys()), "only in the old report, of which nothing is known now"),
        (sorted(after.keys() - before.keys()), "only in the new report"),
        (sorted(path for path in before.keys() & after.keys() if before[path] != after[path]), "changed"),
    ):
        if paths:
            shown = ", ".join(f"`{one_line(path)}`" for path in paths[:5])
            yield f"{plural(len(paths), 'input')} {what}: {shown}{', …' if len(paths) > 5 else ''}"


def to_text(diff: ReportDiff) -> str:
    """Return the text: notes, all changes, then the counts and the verdict."""
    lines = [f"note: {note}" for note in diff.notes]
    for change in diff.changes:
        if change.kind is not Kind.UNCHANGED or change.worse:
            lines += _change(change)
    lines += [_proof(change) for change in diff.proofs if change.kind is not Kind.UNCHANGED]
    lines.append("findings: " + _counts(change.kind for change in diff.changes))
    if diff.proofs:
        lines.append("comparisons: " + _counts(change.kind for change in diff.proofs))
    lines.append(f"verdict: {_sentence(diff)}")
    return "\n".join(lines) + "\n"


def _sentence(diff: ReportDiff) -> str:
    """Return the verdict in a sentence."""
    if not diff.worse:
        return "no remaining finding is new or worse"
    return f"{plural(diff.worse, 'result')} {'is' if diff.worse == 1 else 'are'} new or worse"


def _counts(kinds: Iterator[Kind]) -> str:
    """Return how many changes are of each kind, in the order of `Kind`."""
    found = Counter(kinds)
    return ", ".join(f"{found[kind]} {kind.value}" for kind in Kind if found[kind] or kind is not Kind.UNSEEN)


def _change(change: Change) -> Iterator[str]:
    finding = change.finding
    mark = "!" if change.worse else " "
    place = one_line(words.place(finding.location))
    yield f"{mark} {change.kind.value}: {place}: {words.verdict(finding)}: {one_line(finding.message)} [{finding.rule}]"
    yield from (f"      {one_line(text)}" for text in change.changes)


def _proof(change: ProofChange) -> str:
    comparison = change.comparison
    mark, where = "!" if change.worse else " ", one_line(change.original)
    return f"{mark} {change.kind.value}: {where}: {comparison.stage} {one_line(comparison.name)}: {change.text}"


def to_json(diff: ReportDiff) -> str:
    """Return the JSON text with `worse`, `notes`, `counts`, and all changes in `findings` and `comparisons`."""
    data = {
        "schema": {"name": "recmigrate-report-diff", "major": 1, "minor": 1},
        "worse": diff.worse,
        "notes": list(diff.notes),
        "counts": {kind.value: sum(change.kind is kind for change in diff.changes) for kind in Kind},
        "findings": [_change_data(change) for change in diff.changes],
        "comparisons": [_proof_data(change) for change in diff.proofs],
    }
    return json.dumps(data, indent=1) + "\n"


def _change_data(change: Change) -> dict[str, Any]:
    finding = change.finding
    return {
        "class": change.kind.value,
        "worse": change.worse,
        "id": finding.id,
        "rule": finding.rule,
        "path": finding.location.path,
        "line": finding.location.line,
        "scope": finding.location.scope,
        "state": finding.state.value,
        "message": finding.message,
        "changes": list(change.changes),
    }


def _proof_data(change: ProofChange) -> dict[str, Any]:
    comparison = change.comparison
    return {
        "class": change.kind.value,
        "worse": change.worse,
        "original": change.original,
        "stage": comparison.stage,
        "name": comparison.name,
        "before": change.before.verdict if change.before else None,
        "after": change.after.verdict if change.after else None,
    }
