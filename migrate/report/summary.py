"""Counts and summary sentences of a report, shared by all writers so that they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from migrate.report.model import GRAPH_RULE, Applicability, Finding, Report, State, TableRecord, Verification

#: States of code that was not converted or not analysed; a pending decision does not block.
BLOCKING = frozenset({State.UNSUPPORTED, State.OPAQUE, State.FAILED})
_CONVERTED = frozenset({State.APPLIED, State.AVAILABLE})


class Bucket(str, Enum):
    """The five numbers at the top of a report; `NOTED` findings are in none of them."""

    EXACT = "exact"
    CONDITIONAL = "conditional"
    SUGGESTED = "suggested"
    UNSUPPORTED = "unsupported"
    OPAQUE = "opaque"
    NOTED = "noted"


LABELS = {
    Bucket.EXACT: "converted exactly",
    Bucket.CONDITIONAL: "under a condition, or with changed values",
    Bucket.SUGGESTED: "needs a decision",
    Bucket.UNSUPPORTED: "left unchanged",
    Bucket.OPAQUE: "unsupported",
    Bucket.NOTED: "noted",
}
_BY_STATE = {
    State.SUGGESTED: Bucket.SUGGESTED,
    State.UNSUPPORTED: Bucket.UNSUPPORTED,
    State.FAILED: Bucket.UNSUPPORTED,
    State.OPAQUE: Bucket.OPAQUE,
    State.NOTED: Bucket.NOTED,
}


def bucket(finding: Finding) -> Bucket:
    """Return which number counts this finding; an edit is exact only when it says so and assumes nothing."""
    return _bucket(finding.state, finding.applicability is Applicability.EXACT and not finding.assumptions)


def table_bucket(table: TableRecord) -> Bucket:
    """Return the number that a table's verdict corresponds to, for its colour."""
    return _bucket(table.verdict, table.applicability is Applicability.EXACT)


def _bucket(state: State, exact: bool) -> Bucket:
    if state in _CONVERTED:
        return Bucket.EXACT if exact else Bucket.CONDITIONAL
    return _BY_STATE[state]


@dataclass(frozen=True)
class Tally:
    """How many of a number of items were converted, remain, and block the conversion."""

    converted: int
    total: int
    remaining: int
    blocking: int

    @staticmethod
    def of_findings(findings: Iterable[Finding]) -> Tally:
        """Count the findings; notes are not counted."""
        counted = [finding for finding in findings if finding.state is not State.NOTED]
        return Tally._of([finding.state for finding in counted])

    @staticmethod
    def of_tables(tables: Iterable[TableRecord]) -> Tally:
        """Count embedding tables by verdict."""
        return Tally._of([table.verdict for table in tables])

    @staticmethod
    def _of(states: list[State]) -> Tally:
        converted = sum(state in _CONVERTED for state in states)
        open_states = [state for state in states if state not in {*_CONVERTED, State.NOTED}]
        return Tally(converted, len(states), len(open_states), sum(state in BLOCKING for state in open_states))

    def sentence(self, noun: str, verb: str = "converted") -> str:
        """Return e.g. `3 of 4 tables converted; 1 remains, and it blocks`."""
        text = f"{self.converted} of {plural(self.total, noun)} {verb}"
        if not self.remaining:
            return text
        return f"{text}; {self.remaining} {'remains' if self.remaining == 1 else 'remain'}, {self._blocked()}"

    def _blocked(self) -> str:
        if self.remaining == 1:
            return "and it blocks" if self.blocking else "and it does not block"
        if not self.blocking:
            return "of which none blocks"
        return f"of which {self.blocking} {'blocks' if self.blocking == 1 else 'block'}"


def plural(count: int, noun: str) -> str:
    """Return the count with its noun, in singular or plural: `1 table`, `2 tables`, `2 passes`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{count} {noun[:-1]}ies"
    return f"{count} {noun}{'es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's'}"


def buckets(report: Report) -> dict[Bucket, int]:
    """Return the number of findings in every bucket, zeros included."""
    counts = Counter(bucket(finding) for finding in report.findings)
    return {key: counts[key] for key in Bucket}


def conversion_verb(report: Report) -> str:
    """Return `converted`, or `convertible` when nothing was written (`migrate check`)."""
    states = {finding.state for finding in report.findings} | {table.verdict for table in report.tables}
    return "convertible" if State.AVAILABLE in states and State.APPLIED not in states else "converted"


def tallies(report: Report) -> list[str]:
    """Return one sentence on the tables and one on the findings; a sentence about zero items is left out."""
    tables, findings = Tally.of_tables(report.tables), Tally.of_findings(report.findings)
    verb = conversion_verb(report)
    lines = [tables.sentence("table", verb)] if tables.total else []
    counted = findings.total or not (tables.total or report.verifications)
    return lines + ([findings.sentence("finding", verb)] if counted else [])


def remaining(report: Report) -> list[Finding]:
    """Return the findings that a person must handle, blocking ones first, then in source order; see `available`."""
    left = [finding for finding in report.findings if finding.remains and finding.state is not State.AVAILABLE]
    return sorted(left, key=lambda f: (f.state not in BLOCKING, f.location.path, f.location.line))


def available(report: Report) -> str:
    """Return how to apply what `check` found, e.g. `run migrate convert: it makes 3 edits`; empty if nothing."""
    left = [finding for finding in report.findings if finding.state is State.AVAILABLE]
    tables = sum(finding.rule == GRAPH_RULE for finding in left)
    todo = []
    if len(left) > tables:
        todo.append(f"run `migrate convert`: it makes {plural(len(left) - tables, 'edit')}")
    if tables:
        todo.append(
            f"pass GraphModifierHook to the session, or DST to `migrate graph`: it converts {plural(tables, 'table')}"
        )
    return "; ".join(todo)


def proof(verification: Verification) -> str:
    """Return one sentence on the verification of a pair of files, e.g. `41 of 41 comparisons equal`."""
    total = len(verification.comparisons)
    if not total:
        return "nothing was compared, so nothing is verified"
    equal = sum(comparison.verdict == "equal" for comparison in verification.comparisons)
    return f"{equal} of {plural(total, 'comparison')} equal"


def verdict(report: Report) -> tuple[str, str]:
    """Return the overall state (`ok`, `work`, `blocked`, `failed`) and one sentence with the reason."""
    tally = Tally.of_findings(report.findings)
    failed = [v for v in report.verifications if not v.passed]
    stages = [stage for stage in report.stages if stage.state == "failed"]
    parts = []
    if report.tables:
        parts.append(Tally.of_tables(report.tables).sentence("table", conversion_verb(report)))
    elif tally.total:
        parts.append(tally.sentence("finding", conversion_verb(report)))
    parts += [_proof_sentence(report, len(failed))] if report.verifications else []
    parts += [f"stage `{stages[0].name}` failed"] if stages else []
    if not parts:
        parts.append("nothing to convert was found")
    return _whole(report, bool(failed or stages)), "; ".join(parts)


def _proof_sentence(report: Report, failed: int) -> str:
    total = len(report.verifications)
    if not failed:
        which = "both" if total == 2 else f"all {total}"
        return "the results agree" if total == 1 else f"the results of {which} pairs agree"
    return "the results differ" if total == 1 else f"the results of {failed} of {total} pairs differ"


def _whole(report: Report, failed: bool) -> str:
    if failed:
        return "failed"
    states = {finding.state for finding in report.findings if finding.remains}
    states |= {table.verdict for table in report.tables} - {State.APPLIED, State.NOTED}
    if states & BLOCKING:
        return "blocked"
    return "work" if states else "ok"
