"""The difference of two reports as one self-contained HTML page, from the template `templates/diff.html.jinja`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from migrate import __version__
from migrate.report.diff import Change, Kind
from migrate.report.diff_proof import ProofChange
from migrate.report.diff_show import ReportDiff, counts, sentence
from migrate.report.writers.as_html import environment


@dataclass(frozen=True)
class Part:
    """The changes of one section."""

    changes: tuple[Change, ...]
    proofs: tuple[ProofChange, ...]


def to_html(diff: ReportDiff) -> str:
    """Return the page; all text of the reports is escaped, and hidden characters are made visible."""
    return (
        environment()
        .get_template("diff.html.jinja")
        .render(
            diff=diff,
            sentence=sentence(diff),
            kinds=[kind.value for kind in Kind],
            counted=list(_counted(diff)),
            worse=_part(diff, True),
            others=_part(diff, False),
            labels={},
            version=__version__,
        )
        .lstrip()
    )


def _counted(diff: ReportDiff) -> Iterator[tuple[str, list[str]]]:
    yield "findings", counts(change.kind for change in diff.changes)
    if diff.proofs:
        yield "comparisons", counts(change.kind for change in diff.proofs)


def _part(diff: ReportDiff, worse: bool) -> Part:
    """Return what is worse, or what else has changed."""
    return Part(
        tuple(one for one in diff.changes if one.worse is worse and (worse or one.kind is not Kind.UNCHANGED)),
        tuple(one for one in diff.proofs if one.worse is worse and (worse or one.kind is not Kind.UNCHANGED)),
    )
