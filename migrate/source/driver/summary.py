"""The terminal summary of a conversion: files, tables, findings that need attention, and the totals."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from migrate.report import words
from migrate.report.model import Finding, InputFile, Location, Report, State, TableRecord
from migrate.report.summary import plural
from migrate.source.files.generated_files import RULE as GENERATED
from migrate.source.files.notebook import notebook_of

#: A verdict in its colour.
Paint = Callable[[str, State], str]
#: The end of a reason that stands in another file.
_PLACE = re.compile(r"\(([^()]+:\d+)\)$")
#: Code of the user in a message.
_CODE = re.compile("`[^`]*`")
SHOWN = {State.SUGGESTED, State.UNSUPPORTED, State.OPAQUE, State.FAILED}
DONE = {State.APPLIED, State.AVAILABLE}
#: Frameworks, by the kinds of files; Keras' models are TensorFlow's.
_FRAMEWORKS = {"tensorflow": "TensorFlow", "paddle": "Paddle"}
#: If one assumption concerns more lines than this, the others are only counted.
SOME = 5
#: So many findings of a file in the same words are lines of their own.
ALIKE = 2
#: If more files than this would be shown, those of which nothing is left to do are one line each.
FILES = 20
#: So many tables of a file with one verdict are shown; more are only counted.
TABLES = 8


def plain(text: str, state: State) -> str:
    """Return the text as it is."""
    return text


def summary_lines(
    report: Report, paint: Paint = plain, everything: bool = False, used: Callable[[], Collection[str]] | None = None
) -> Iterator[str]:
    """Yield the lines of the summary, in the order of the inputs; `everything`: also exact conversions.

    `used` returns the files of programs with tables: of others without a table, notes are only counted.
    """
    tables, findings = defaultdict(list), defaultdict(list)
    for table in report.tables:
        tables[notebook_of(table.location.path)].append(table)
    for finding in report.findings:
        findings[notebook_of(finding.location.path)].append(finding)
    generated = {finding.location.path for finding in report.findings if finding.rule == GENERATED}
    noted = {path for path, own in findings.items() if _notes(own)}
    of_files = {path for path in noted if any(one.subject == "file" for one in _notes(findings[path]))}
    aside = noted - of_files - {*tables} if used is not None and not everything else set()
    aside -= set(used()) if aside and used is not None else set()
    speaks = {path for path, own in findings.items() if _shown(own)} | (noted - aside)
    silent = {file.path for file in report.inputs} - {*tables, *speaks}
    silent = silent - generated if len(silent) < len(report.inputs) and not everything else set()
    shown = [file.path for file in report.inputs if file.path not in generated | silent]
    known = {f"{one.message}: {one.reason}": one.location for one in report.findings}
    for path in shown:
        yield f"{path}: {_tables(tables[path], paint)}"
        if everything or len(shown) <= FILES or not _is_done(tables[path]):
            yield from _each(tables[path], _Reasons(findings[path], known), paint, everything)
        yield from _said(findings[path], paint, everything)
    for beside in sorted(speaks - {file.path for file in report.inputs}):  # such as the trainer of a Paddle model
        yield f"{beside}:"
        yield from _said(findings[beside], paint, everything)
    if silent:
        notes = sum(len(_notes(findings[path])) for path in silent)
        more = f"; {plural(notes, 'note')} on them: -v" if notes else ""
        yield f"{plural(len(silent), 'other file')} without a table{more}"
    if generated:
        yield f"skipped: {plural(len(generated), 'generated file')} (--include-generated converts them as well)"
    yield from _growing(report)
    yield _totals(report)


def _is_done(tables: list[TableRecord]) -> bool:
    return all(table.verdict in DONE for table in tables)


@dataclass(frozen=True)
class _Reasons:
    """Where the reasons stand by which tables of a file stay."""

    findings: list[Finding]  #: those of the file
    known: Mapping[str, Location]  #: places in all files, by the reasons of tables

    def elsewhere(self, table: TableRecord) -> str:
        """Return where the reason stands by which a table stays, if none of the file's own findings is one."""
        places = [at for reason in table.reasons if (at := _PLACE.search(reason))]
        alike = (one for one in self.findings if one.state is table.verdict)
        own = [_line(one.location) for one in alike if f"{one.message}: {one.reason}" in table.reasons]
        return next((f"; see {at}" for at in [*own, *map(self._place, places)] if places), "")

    def _place(self, at: re.Match[str]) -> str:
        """Return a place in another file; a reason has the line of a notebook's whole text, not that of its cell."""
        place = self.known.get(at.string[: at.start()].rstrip())
        cell = place is not None and notebook_of(place.path) != place.path
        return f"{notebook_of(place.path)}, {_line(place)}" if place is not None and cell else at[1]


def _each(tables: list[TableRecord], reasons: _Reasons, paint: Paint, everything: bool) -> Iterator[str]:
    """Yield a line for each table; of many with one verdict the first ones, and how many more there are.

    More than two in a row that stay, and of which the same is said, are one line.
    """
    groups: dict[str, list[TableRecord]] = defaultdict(list)
    for table in tables:
        groups[words.verdict(table)].append(table)
    for verdict, group in groups.items():
        shown = group if everything or len(group) <= TABLES + 1 else group[:TABLES]
        folds = group[0].verdict not in DONE and not everything
        for said, same in groupby(shown, lambda table: _said_of(table, reasons, paint)):
            names = [*map(_name, same)]
            names = [", ".join(names)] if folds and len(names) > ALIKE else names
            yield from (f"  {one}: {said}" for one in names)
        if len(shown) < len(group):
            yield f"  and {plural(len(group) - len(shown), 'more table')}: {paint(verdict, group[0].verdict)} (-v)"


def _growing(report: Report) -> Iterator[str]:
    """Yield how many tables cannot grow, and of how many the source does not show where their ids come from."""
    limited = sum(table.growth == "bounded" for table in report.tables)
    if limited and all(one.target in ("", "runtime") for one in report.inputs):
        yield (
            f"{plural(limited, 'table')} cannot grow, because of the ids: `--unbucket all` changes that where ids are "
            "hashed or divided into buckets"
        )
    count = sum(table.growth == "unknown" for table in report.tables)
    if count:
        yield f"{plural(count, 'table')}: the source does not show how many ids there can be; {words.ASK_A_RUN}"


def _said(findings: list[Finding], paint: Paint, everything: bool) -> Iterator[str]:
    if everything:
        lines = [
            _finding(one) if one.state in SHOWN else f"{paint(words.verdict(one), one.state)}, {_finding(one)}"
            for one in findings
            if one.state in SHOWN | DONE
        ]
        notes = [*map(_finding, _notes(findings, everything))]
    else:
        lines, notes = [*_alike(_shown(findings))], [*_alike(_notes(findings))]
    yield from (
        f"  {line}" for line in words.counted([*lines, *_assumed(findings), *(f"note, {one}" for one in notes)])
    )


def _alike(findings: list[Finding]) -> Iterator[str]:
    """Yield a line for each finding; of more than two in the same words, the first with the places of the others."""
    groups: dict[tuple[str, ...], list[Finding]] = defaultdict(list)
    for finding in findings:
        message = _CODE.sub("", finding.message)
        groups[finding.rule, finding.state, message, finding.reason, finding.action, words.came(finding)].append(
            finding
        )
    for group in groups.values():
        places = [*dict.fromkeys(_line(one.location) for one in group)]
        if len(places) <= ALIKE:
            yield from map(_finding, group)
        else:
            more = f" and {len(places) - 1 - SOME} more" if len(places) - 1 > SOME else ""
            yield f"{_finding(group[0])}; the same holds at {', '.join(places[1 : SOME + 1])}{more}"


def _shown(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.state in SHOWN]


def _notes(findings: list[Finding], everything: bool = False) -> list[Finding]:
    """Return the notes to print.

    Those on lookups, and what a recorded run overrules, are omitted, because the line of the table covers them.
    """
    noted = [one for one in findings if one.state is State.NOTED and one.rule != GENERATED]
    return [one for one in noted if everything or (one.subject != "lookup" and not _is_overruled(one))]


def _is_overruled(note: Finding) -> bool:
    return note.subject == "use" and bool(note.evidence)


def _assumed(findings: list[Finding]) -> Iterator[str]:
    """Yield each assumption of the conversion, and what a run decided, with the lines that it concerns."""
    places: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for finding in findings:
        said = [("assumed", one) for one in finding.assumptions] + [
            ("decided by a recorded run", one) for one in finding.evidence
        ]
        for kind, text in said if finding.state in DONE else ():
            places[kind, text][_line(finding.location)] = None
    for (kind, text), lines in places.items():
        more = f" and {len(lines) - SOME} more" if len(lines) > SOME else ""
        yield f"{kind}, {', '.join(list(lines)[:SOME])}{more}: {text}"


def _tables(tables: list[TableRecord], paint: Paint) -> str:
    if not tables:
        return "no table"
    counts = Counter((table.verdict, words.table_state(table)) for table in tables)
    plurals = {words.table_state(table): words.table_state(table, plural=True) for table in tables}
    return ", ".join(
        paint(f"{plural(count, 'table')} {said if count == 1 else plurals[said]}", state)
        for (state, said), count in counts.items()
    )


def _word(state: State, count: int) -> str:
    if state is State.NOTED:
        return "noted"
    return "need a decision" if state is State.SUGGESTED and count > 1 else words.STATES[state]


def _name(table: TableRecord) -> str:
    at = _line(table.location)
    return table.name if table.name.endswith(f"at {at}") else f"{table.name} ({at})"


def _said_of(table: TableRecord, reasons: _Reasons, paint: Paint) -> str:
    """Return verdict, lookups and growth of a table, or where the reason is by which it stays."""
    verdict = paint(words.verdict(table), table.verdict)
    if table.verdict not in DONE:
        return f"{verdict}{reasons.elsewhere(table)}"
    reads = f", {plural(len(table.lookups), 'lookup')}" if table.lookups else ""
    grows = words.growth(table) if table.growth in ("bounded", "free") else ""
    near = grows.replace(f"at {table.location.path}:", "at line ")
    return f"{verdict}{reads}{f'; {near}' if near else ''}"


def _finding(finding: Finding) -> str:
    reason = f": {finding.reason}" if finding.reason else ""
    # Of all doubts the reader has this one in mind.
    action = f"; {finding.action}".replace("--assume", f"--assume={finding.rule}") if finding.action else ""
    came = f"; {words.came(finding)}" if words.came(finding) else ""
    return f"{_line(finding.location)}: {finding.message}{reason}{came}{action}"


def _line(location: Location) -> str:
    """Return `line 3`, in a notebook `cell 5f3a, line 3`."""
    cell = location.path.removeprefix(notebook_of(location.path)).removeprefix(":")
    return f"{cell}, {words.line(location)}" if cell else words.line(location)


def _totals(report: Report) -> str:
    counts = Counter(finding.state for finding in report.findings)
    words = sorted((_word(state, count), count) for state, count in counts.items())
    findings = ", ".join(f"{count} {word}" for word, count in words) or "none"
    return f"{_files(report.inputs)}, {plural(len(report.tables), 'table')}; findings: {findings}"


def _files(inputs: Sequence[InputFile]) -> str:
    """Return how many files were judged; of several, that those without a framework are not counted."""
    kinds = sorted({_FRAMEWORKS[one.kind] for one in inputs if one.kind in _FRAMEWORKS}, reverse=True)
    count = sum(one.kind in _FRAMEWORKS for one in inputs)
    return plural(len(inputs), "file") if count < 2 else f"{count} files that use {' or '.join(kinds)}"
