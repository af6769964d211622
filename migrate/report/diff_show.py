"""The difference of two reports, with its counts and exit code, as text or JSON.

Of their verifications, a comparison that was equal and no longer is counts as new.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from migrate.report import words
from migrate.report.diff import Change, Kind, compare_findings, match
from migrate.report.model import Comparison, Report, Verification
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
    counts = Counter(kinds)
    return ", ".join(f"{counts[kind]} {kind.value}" for kind in Kind if counts[kind] or kind is not Kind.UNSEEN)


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


_RANK = {"equal": 0, "changes-values": 1}  # all other verdicts: not verified


@dataclass(frozen=True)
class ProofChange:
    """One comparison of one pair of files in the old report, the new one, or both."""

    kind: Kind
    original: str
    before: Comparison | None
    after: Comparison | None
    worse: bool

    @property
    def comparison(self) -> Comparison:
        """The comparison in the new report, or in the old one if it is missing there."""
        comparison = self.after or self.before
        assert comparison is not None  # every change has at least one of the two
        return comparison

    @property
    def text(self) -> str:
        """What happened, e.g. `equal -> differs`, with `not compared` for a missing side."""
        sides = [side.verdict if side else "not compared" for side in (self.before, self.after)]
        return sides[0] if sides[0] == sides[1] else " -> ".join(sides)


def compare_proofs(old: Report, new: Report) -> tuple[ProofChange, ...]:
    """Return every comparison of both reports once; one that was equal and is now missing counts as worse."""
    pairs, gone, fresh = match(old.verifications, new.verifications, lambda item: (item.original, item.converted))
    renamed, gone, fresh = match(gone, fresh, lambda item: item.original)  # another output directory
    moved, gone, fresh = match(gone, fresh, lambda item: PurePath(item.original).name)
    changes = [change for a, b in (*pairs, *renamed, *moved) for change in _pair(a, b)]
    changes += [change for item in gone for change in _pair(item, Verification(item.original, item.converted, ()))]
    changes += [change for item in fresh for change in _pair(Verification(item.original, item.converted, ()), item)]
    return tuple(sorted(changes, key=lambda change: (not change.worse, list(Kind).index(change.kind))))


def _pair(before: Verification, after: Verification) -> Iterable[ProofChange]:
    same, gone, fresh = match(_keyed(before), _keyed(after), lambda item: item[0])
    for (_, a), (_, b) in same:
        yield ProofChange(_kind(a, b), after.original, a, b, _rank(b) > _rank(a))
    for _, a in gone:
        lost = _rank(a) == 0
        yield ProofChange(Kind.NEW if lost else Kind.FIXED, before.original, a, None, lost)
    yield from (ProofChange(Kind.NEW, after.original, None, b, _rank(b) == 2) for _, b in fresh)


def _kind(before: Comparison, after: Comparison) -> Kind:
    if _rank(before) == _rank(after):
        return Kind.UNCHANGED if before.verdict == after.verdict else Kind.UPDATED
    return Kind.NEW if _rank(after) > _rank(before) else Kind.FIXED


def _keyed(item: Verification) -> list[tuple[tuple[str, str, int], Comparison]]:
    """Return the comparisons with their keys: stage, name and ordinal, as a tensor may be compared at several steps."""
    seen: Counter[tuple[str, str]] = Counter()
    result = []
    for comparison in item.comparisons:
        key = (comparison.stage, comparison.name)
        result.append(((*key, seen[key]), comparison))
        seen[key] += 1
    return result


def _rank(comparison: Comparison) -> int:
    return _RANK.get(comparison.verdict, 2)
