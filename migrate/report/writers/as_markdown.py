"""Markdown for pull requests and issues: the contents of the text format as headings, lists and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

from migrate.report import summary, words
from migrate.report.files_view import FileView, per_file
from migrate.report.model import Finding, Report, Verification
from migrate.report.visible import one_line, visible

_SPECIAL = re.compile(r"([\\*_{}\[\]<>#|~!$@&])")
_CODE = re.compile(r"`[^`]*`")


def render(report: Report) -> str:
    """Return the report as GitHub-flavoured Markdown; markup in text from the source is escaped."""
    parts = [_head(report), _tables(report), *(_verification(item) for item in report.verifications), _work(report)]
    parts += [_file(view) for view in per_file(report)]
    return "\n\n".join("\n".join(lines) for lines in map(list, parts) if lines) + "\n"


def escaped(text: str) -> str:
    """Return the text on one line, with markup escaped outside of code spans."""
    line, done, at = one_line(text), [], 0
    for span in _CODE.finditer(line):
        done += [_SPECIAL.sub(r"\\\1", line[at : span.start()]), span.group().replace("|", "\\|")]
        at = span.end()
    return "".join(done) + _SPECIAL.sub(r"\\\1", line[at:]).replace("`", "\\`")


def code(text: str) -> str:
    """Return the text on one line as a code span, fenced by more back-ticks than it contains."""
    line = one_line(text).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def _head(report: Report) -> Iterator[str]:
    yield f"# Migration report\n\n**{escaped(summary.verdict(report)[1])}**\n"
    yield f"{code(report.command)} · recmigrate {report.tool_version}\n"
    marks = {"ok": "x", "failed": " ", "not run": " "}
    for stage in report.stages:
        note = "" if stage.state == "ok" else f" ({stage.state})"
        yield f"- [{marks.get(stage.state, ' ')}] {stage.name}{note} {escaped(stage.message)}".rstrip()
    lines = summary.tallies(report)
    conditional = summary.buckets(report)[summary.Bucket.CONDITIONAL]
    if conditional:
        lines.append(f"{conditional} of these under a condition, or with changed values")
    lines += [f"{item.original}: {summary.proof(item)}" for item in report.verifications]
    yield "\n" + "  \n".join(map(escaped, lines))


def _tables(report: Report) -> Iterator[str]:
    if not report.tables:
        return
    yield "## Tables\n\n| table | verdict | rows × dim | lookups | optimizer | can it grow? | where |"
    yield "|---|---|---|---|---|---|---|"
    for table in report.tables:
        shape = escaped(f"{table.rows or '?'} × {table.dim}")
        cells = [code(table.name), words.verdict(table), shape, str(len(table.lookups)), escaped(table.optimizer)]
        cells.append(escaped(words.growth(table)))
        yield f"| {' | '.join([*cells, code(words.place(table.location))])} |"


def _verification(item: Verification) -> Iterator[str]:
    yield f"## {escaped(item.original)} and {escaped(item.converted)}\n\n{summary.proof(item)}\n"
    yield "| stage | tensor | values | max abs | max rel | tolerance | needed | verdict |"
    yield "|---|---|--:|--:|--:|--:|--:|---|"
    for c in item.comparisons:
        values = " | ".join(words.number(value) for value in (c.max_abs, c.max_rel, c.tolerance, c.needed))
        yield f"| {escaped(c.stage)} | {code(c.name)} | {c.count} | {values} | {escaped(words.comparison_verdict(c))} |"


def _work(report: Report) -> Iterator[str]:
    left = summary.remaining(report)
    if left or summary.available(report):
        yield "## Remaining work\n"
    for at, finding in enumerate(left, 1):
        yield f"{at}. {code(words.place(finding.location))} {escaped(finding.action or finding.message)}"
    if summary.available(report):
        yield f"{len(left) + 1}. {escaped(summary.available(report))}"


def _file(view: FileView) -> Iterator[str]:
    yield f"## {escaped(view.file.path)}\n"
    yield view.tally.sentence("finding") + "\n" if view.tally.total else "nothing to convert\n"
    yield from map(_finding, view.findings)
    if view.file.diff:
        text = visible(view.file.diff).rstrip("\n")
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        yield f"\n{fence}diff\n{text}\n{fence}"


def _finding(finding: Finding) -> str:
    where = words.line(finding.location)
    lines = [f"- {where}: **{words.verdict(finding)}**: {escaped(finding.message)} ({code(finding.rule)})"]
    lines += [f"  - because {escaped(finding.reason)}"] if finding.reason else []
    lines += [f"  - assumes {escaped(assumption)}" for assumption in finding.assumptions]
    lines += [f"  - decided by a recorded run: {escaped(decided)}" for decided in finding.evidence]
    lines += [f"  - way: {escaped(words.way(finding))}"] if finding.steps and finding.remains else []
    lines += [f"  - do: {escaped(finding.action)}"] if finding.action else []
    return "\n".join(lines)
