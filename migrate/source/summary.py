"""What a conversion says on the terminal: a line a file, a line a table, what stopped it, and the totals."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from migrate.report.model import Applicability, Finding, Location, Report, State, TableRecord
from migrate.report.summary import plural
from migrate.source.generated import RULE as GENERATED
from migrate.source.notebook import notebook_of

WORDS = {
    State.APPLIED: "converted",
    State.AVAILABLE: "convertible",
    State.SUGGESTED: "needs a decision",
    State.UNSUPPORTED: "kept",
    State.OPAQUE: "not followed",
    State.FAILED: "failed",
    State.NOTED: "noted",
}
SHOWN = {State.SUGGESTED, State.UNSUPPORTED, State.OPAQUE, State.FAILED}
#: More files than this about which there is nothing to say are only counted.
FEW = 5


def summary_lines(report: Report) -> Iterator[str]:
    """Yield the lines of the summary, in the order of the inputs."""
    tables, findings = defaultdict(list), defaultdict(list)
    for table in report.tables:
        tables[notebook_of(table.location.path)].append(table)
    for finding in report.findings:
        findings[notebook_of(finding.location.path)].append(finding)
    generated = {finding.location.path for finding in report.findings if finding.rule == GENERATED}
    silent = {file.path for file in report.inputs} - {*tables, *(p for p, own in findings.items() if _shown(own))}
    silent = silent - generated if len(silent) > FEW else set()
    for file in report.inputs:
        if file.path in generated | silent:
            continue
        yield f"{file.path}: {_tables(tables[file.path])}"
        yield from (f"  {_table(table)}" for table in tables[file.path])
        yield from (f"  {_finding(finding)}" for finding in _shown(findings[file.path]))
    if silent:
        yield f"{plural(len(silent), 'file')} without a table"
    if generated:
        yield f"left out: {plural(len(generated), 'generated file')} (--include-generated converts them, too)"
    yield _totals(report)


def _shown(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.state in SHOWN]


def _tables(tables: list[TableRecord]) -> str:
    if not tables:
        return "no table"
    counts = Counter(table.verdict for table in tables)
    return ", ".join(f"{plural(count, 'table')} {_word(state, count)}" for state, count in counts.items())


def _word(state: State, count: int) -> str:
    return "need a decision" if state is State.SUGGESTED and count > 1 else WORDS[state]


def _table(table: TableRecord) -> str:
    how = ""
    if table.applicability is not None and table.verdict in {State.APPLIED, State.AVAILABLE}:
        how = {Applicability.EXACT: ", exact", Applicability.ASSUMPTION: ", under an assumption"}.get(
            table.applicability, ", changes values"
        )
    reads = f", {plural(len(table.lookups), 'lookup')}" if table.lookups else ""
    return f"{table.name} ({_line(table.location)}): {WORDS[table.verdict]}{how}{reads}"


def _finding(finding: Finding) -> str:
    reason = f": {finding.reason}" if finding.reason else ""
    action = f"; {finding.action}" if finding.action else ""
    return f"{_line(finding.location)}: {finding.message}{reason}{action}"


def _line(location: Location) -> str:
    """Return `line 3`, in a notebook `cell 5f3a, line 3`."""
    cell = location.path.removeprefix(notebook_of(location.path)).removeprefix(":")
    return f"{cell}, line {location.line}" if cell else f"line {location.line}"


def _totals(report: Report) -> str:
    counts = Counter(finding.state for finding in report.findings)
    words = sorted((_word(state, count), count) for state, count in counts.items())
    findings = ", ".join(f"{count} {word}" for word, count in words) or "none"
    files, tables = plural(len(report.inputs), "file"), plural(len(report.tables), "table")
    return f"{files}, {tables}; findings: {findings}"
