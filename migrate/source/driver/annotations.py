"""`--mark`: writes a comment above each statement that blocks a table, to show remaining work in the code."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from migrate.report.model import Finding, State, TableRecord
from migrate.source.driver.sanity_check import split_lines, unchanged_lines
from migrate.source.files.conversion_result import SourceResult
from migrate.source.syntax.blocks import first_line, statements

WORD = "# migrate: kept"
MARK = re.compile(rf"[ \t]*{WORD}\b")
WIDTH = 120
LEFT = {State.SUGGESTED, State.UNSUPPORTED, State.OPAQUE}


def marked(result: SourceResult, original: ast.Module) -> SourceResult:
    """Return the result with marks; those of an earlier run are replaced.

    Each statement gets at most one mark. A statement without a line of its own (after a `;`, or in an edited line) gets
    none.
    """
    lines = split_lines(result.converted)
    places = unchanged_lines(split_lines(result.original), lines)
    wanted: dict[int, str] = {}
    for line, text in _texts(result):
        start = _statement(original, line)
        if start is not None and start in places:
            wanted.setdefault(places[start], text)
    ends = re.findall(r"\r\n|\r|\n", result.converted)
    newline = ends[0] if ends else "\n"
    parts: list[str] = []
    for number, (here, end) in enumerate(zip(lines, [*ends, ""], strict=True), 1):
        if MARK.match(here):
            continue
        if number in wanted:
            mark, old = _mark(here, wanted[number]), lines[number - 2] if number > 1 else ""
            # A conversion may change code that a mark quotes: keep the old mark if the rest is the same.
            parts += [old if _said(old) == _said(mark) else mark, newline]
        parts += [here, end]
    text = "".join(parts)
    same = ast.dump(ast.parse(text)) == ast.dump(ast.parse(result.converted))
    return replace(result, converted=text) if same else result


def _texts(result: SourceResult) -> Iterator[tuple[int, str]]:
    """Yield (line of the original, text of the mark), for findings first, then for their tables."""
    for finding in result.findings:
        if finding.state in LEFT and finding.before and finding.location.path == result.path:
            yield finding.location.line, _of_finding(finding)
    for table in result.tables:
        if table.verdict in LEFT and table.reasons and table.location.path == result.path:
            yield table.location.line, _of_table(table)


def _of_finding(finding: Finding) -> str:
    return f" ({finding.rule}): {finding.message}{f': {finding.reason}' if finding.reason else ''}"


def _of_table(table: TableRecord) -> str:
    count = len(table.reasons)
    return f"{f' for {count} reasons' if count > 1 else ''}: {table.reasons[0]}"


def _said(mark: str) -> str:
    """Return the part of a mark that does not quote code; empty for a line that is no mark."""
    return mark.partition(":")[0] + mark.partition(":")[2].partition(":")[0] if MARK.match(mark) else ""


def _mark(line: str, text: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    room = max(WIDTH - len(indent.expandtabs()) - len(WORD), 40)
    return f"{indent}{WORD}{textwrap.shorten(f'x{text}', room, placeholder=' …')[1:]}"


def _statement(module: ast.Module, line: int) -> int | None:
    """Return the first line of the innermost statement at `line`; None if other code precedes it on that line."""
    found: ast.stmt | None = None
    body: list[ast.stmt] = module.body
    while inner := next((node for node in body if first_line(node) <= line <= (node.end_lineno or 0)), None):
        before = body[body.index(inner) - 1] if inner is not body[0] else None
        if (before is not None and before.end_lineno == first_line(inner)) or (
            found and found.lineno == first_line(inner)
        ):
            return None
        found = inner
        body = list(statements(inner))
    return None if found is None else first_line(found)
