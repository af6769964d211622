"""Plain text for the terminal: the verdict, findings per file, tables, comparisons, remaining work."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report import summary, words
from migrate.report.columns import aligned
from migrate.report.files_view import FileView, per_file
from migrate.report.model import Finding, Report, State, TableRecord, Verification
from migrate.report.visible import one_line, shortened

_COLUMNS = ("stage", "tensor", "values", "max abs", "max rel", "tolerance", "needed", "verdict")
_NAME = 60  #: characters of a comparison's name; reports in other formats have all of it


def render(report: Report) -> str:
    """Return the whole report as text with a newline at the end."""
    parts = [list(_head(report))]
    parts += [list(_file(view)) for view in per_file(report)]
    parts += [["Tables", *(line for table in report.tables for line in _table(table))]] if report.tables else []
    parts += [list(_verification(item)) for item in report.verifications]
    parts += [list(_work(report))]
    return "\n".join("\n".join(part) + "\n" for part in parts if part)


def _head(report: Report) -> Iterator[str]:
    yield f"recmigrate {report.tool_version}: {one_line(report.command)}"
    yield "verdict: " + summary.verdict(report)[1]
    for stage in report.stages:
        yield f"  {stage.name} {stage.state}" + (f": {one_line(stage.message)}" if stage.message else "")


def _file(view: FileView) -> Iterator[str]:
    kind = f" ({view.file.kind})" if view.file.kind else ""
    yield (
        f"{one_line(view.file.path)}{kind}: {view.tally.sentence('finding')}"
        if view.tally.total
        else (f"{one_line(view.file.path)}{kind}: nothing to convert")
    )
    for finding in view.findings:
        yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[str]:
    yield f"  {one_line(words.place(finding.location))}: {words.verdict(finding)}: {_message(finding)}"
    if finding.reason:
        yield f"      because {one_line(finding.reason)}"
    yield from (f"      {line}" for line in details(finding))


def details(finding: Finding) -> Iterator[str]:
    """Yield what else there is to say on a finding: assumptions, the way of its table, and what to do."""
    for assumption in finding.assumptions:
        yield f"assumes {one_line(assumption)}"
    for decided in finding.evidence:
        yield f"decided by a recorded run: {one_line(decided)}"
    if finding.steps and finding.remains:
        yield f"way: {one_line(words.way(finding))}"
    if finding.action:
        yield f"do: {one_line(finding.action)}"


def _message(finding: Finding) -> str:
    return f"{one_line(finding.message)} [{finding.rule}]"


def _table(table: TableRecord) -> Iterator[str]:
    shape = f"{table.rows or 'unknown number of'} rows × {table.dim}"
    lookups = summary.plural(len(table.lookups), "lookup")
    place = one_line(words.place(table.location))
    yield f"  {one_line(table.name)}: {words.verdict(table)}; {one_line(shape)}, {lookups}; {place}"
    if table.growth:
        yield f"      {one_line(words.growth(table))}"
    for reason in table.reasons:
        yield f"      {'because' if table.verdict is not State.NOTED else 'note:'} {one_line(reason)}"


def _verification(item: Verification) -> Iterator[str]:
    yield f"{one_line(item.original)} and {one_line(item.converted)}: {summary.proof(item)}"
    rows = [_COLUMNS]
    for c in item.comparisons:
        values = (words.number(c.max_abs), words.number(c.max_rel), words.number(c.tolerance), words.number(c.needed))
        note = f" ({one_line(c.note)})" if c.note else ""
        rows.append((c.stage, shortened(c.name, _NAME), str(c.count), *values, words.comparison_verdict(c) + note))
    if item.comparisons:
        yield from (f"  {line}" for line in aligned(rows, (0, 1, 7)))
    yield from (f"  {one_line(note)}" for note in item.notes)


def _work(report: Report) -> Iterator[str]:
    left = summary.remaining(report)
    if left or summary.available(report):
        yield "Remaining work"
    for at, finding in enumerate(left, 1):
        action = one_line(finding.action) or _message(finding)
        yield f"  {at}. {one_line(words.place(finding.location))}: {action}"
    if summary.available(report):
        yield "  " + summary.available(report)
