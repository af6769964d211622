"""The difference of two reports for a pull request: as Markdown, and as workflow commands of GitHub Actions."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report import words
from migrate.report.diff import Change, Kind
from migrate.report.diff_proof import ProofChange
from migrate.report.diff_show import ReportDiff, counts, sentence
from migrate.report.writers.as_github import command
from migrate.report.writers.as_markdown import code, escaped


def to_markdown(diff: ReportDiff) -> str:
    """Return GitHub-flavoured Markdown: the verdict, what is new or worse, and the rest folded away."""
    lines = ["# Migration, compared with before", "", f"**{escaped(sentence(diff))}**", ""]
    lines += [f"> {escaped(note)}" for note in diff.notes]
    lines += ["", "| | " + " | ".join(kind.value for kind in Kind) + " |", "|---|" + "--:|" * len(Kind)]
    lines.append(f"| findings | {' | '.join(counts(change.kind for change in diff.changes))} |")
    if diff.proofs:
        lines.append(f"| comparisons | {' | '.join(counts(change.kind for change in diff.proofs))} |")
    worse = [*_changes(diff, worse=True), *_proofs(diff, worse=True)]
    others = [*_changes(diff, worse=False), *_proofs(diff, worse=False)]
    lines += ["", "## New or worse", "", *worse] if worse else []
    lines += ["", "<details><summary>Other changes</summary>", "", *others, "", "</details>"] if others else []
    return "\n".join(lines) + "\n"


def to_github(diff: ReportDiff) -> str:
    """Return one workflow command for each finding that is new or worse; nothing where none is."""
    found = [change.after for change in diff.changes if change.worse and change.after is not None]
    return "".join(f"{command(finding)}\n" for finding in found)


def _changes(diff: ReportDiff, worse: bool) -> Iterator[str]:
    for change in diff.changes:
        if change.worse is worse and (worse or change.kind is not Kind.UNCHANGED):
            yield _change(change)


def _change(change: Change) -> str:
    finding = change.finding
    text = f"- {change.kind.value}: {code(words.place(finding.location))} **{words.verdict(finding)}**: "
    text += f"{escaped(finding.message)} ({code(finding.rule)})"
    return "\n".join([text, *(f"  - {escaped(one)}" for one in change.changes)])


def _proofs(diff: ReportDiff, worse: bool) -> Iterator[str]:
    for change in diff.proofs:
        if change.worse is worse and (worse or change.kind is not Kind.UNCHANGED):
            yield _proof(change)


def _proof(change: ProofChange) -> str:
    name = f"{change.comparison.stage} {change.comparison.name}"
    return f"- {change.kind.value}: {code(change.original)} {escaped(name)}: {escaped(change.text)}"
