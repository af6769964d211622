"""The text of `migrate explain FILE:LINE`: what was found at a line, and why it is or is not converted."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from migrate.errors import MigrateError
from migrate.report import words
from migrate.report.model import Applicability, Finding, FlowStep, Location, State, TableRecord
from migrate.report.summary import plural
from migrate.source.driver.run import How, convert_paths
from migrate.source.driver.sanity_check import split_lines
from migrate.source.files.conversion_result import SourceResult
from migrate.source.files.encoding import source_bytes
from migrate.source.files.notebook import SUFFIX, cell_at, notebook_of
from migrate.source.files.path_lookup import is_file, shown
from migrate.source.settings.options import Options

WIDTH = 100  #: of lines; a terminal may have less
#: More lookups with one verdict than this are one line.
SEVERAL = 3
VERDICTS = {
    State.APPLIED: "convertible, it becomes a dynamic table",
    State.SUGGESTED: "left unchanged, unless you accept the assumptions below (--assume)",
    State.UNSUPPORTED: "left unchanged",
    State.NOTED: "left unchanged, as you requested",
}
DONE = {State.APPLIED, State.AVAILABLE}


@dataclass(frozen=True)
class _Use:
    """One use of a table."""

    place: Location
    text: str
    finding: Finding | None = None  #: that has the steps by which the table gets there

    @property
    def steps(self) -> tuple[FlowStep, ...]:
        """Those steps, if they are known."""
        return self.finding.steps if self.finding is not None else ()


@dataclass(frozen=True)
class _Line:
    """The line that is explained."""

    path: str  #: as findings name it: that of the file, or of the notebook's cell
    number: int
    source: str


@dataclass(frozen=True)
class _Judged:
    """The results of the file and of the files that were analysed with it."""

    result: SourceResult  #: of the file itself
    others: tuple[SourceResult, ...]
    project: str  #: the directory; empty if a run over it skips the file

    @property
    def results(self) -> tuple[SourceResult, ...]:
        return (self.result, *self.others)

    @property
    def tables(self) -> list[TableRecord]:
        return [table for one in self.results for table in one.tables]

    def findings(self, table: TableRecord) -> list[Finding]:
        """Return the findings of a table; if several tables have its name, only those of its file."""
        alone = sum(one.name == table.name for one in self.tables) == 1
        home = notebook_of(table.location.path)
        findings_of_table = [f for one in self.results for f in one.findings if f.table == table.name]
        return [f for f in findings_of_table if alone or notebook_of(f.location.path) == home]

    @property
    def how(self) -> str:
        """How the file was analysed, in words."""
        if not self.project:
            return "analysed alone, because a run over its directory skips it"
        if not self.others:
            return f"analysed in the project {self.project}; no other file concerns its tables"
        names = [one.path for one in self.others]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"analysed in the project {self.project}, together with {', '.join(names[:3])}{more}"


def explain(name: str, line: int, options: Options, project: Path | None = None) -> list[str]:
    """Return the lines of the explanation, each at most 100 columns wide, or as a narrower terminal.

    Args:
        name: a file, or a cell of a notebook (`model.ipynb:cell ID`).
        line: the line to explain, from 1.
        options: the options of the conversion.
        project: the directory that is converted; by default the root of the file's project (`home_of`).

    Raises:
        MigrateError: the file cannot be read, or the cell or line does not exist.
    """
    path = Path(notebook_of(name))
    if not is_file(path):
        raise MigrateError(f"{path}: no such file; give a Python file and a line, such as model.py:12")
    judged = _judge(path, options, project or home_of(path))
    result = judged.result
    failed = next((f for f in result.findings if f.state is State.FAILED), None)
    if failed is not None:
        raise MigrateError(f"{path}: {failed.message}; {failed.action}")
    here = _line(name, path, result, line)
    return list(_page(here, judged))


def _judge(path: Path, options: Options, project: Path) -> _Judged:
    """Convert a file as a run over its project does, or alone if such a run skips it."""
    done = convert_paths([str(project)], options, How(only=path))
    own = next((one for one in done if one.source.path.resolve() == path.resolve()), None)
    if own is None:
        [own] = convert_paths([str(path)], options)
        return _Judged(own.result, (), "")
    others = tuple(one.result for one in done if one is not own)
    return _Judged(own.result, others, shown(project / "x")[:-2] or ".")


def _line(name: str, path: Path, result: SourceResult, line: int) -> _Line:
    where, what, text = result.path, "file", result.original
    if path.suffix == SUFFIX:
        wanted = name.removeprefix(str(path)).removeprefix(":cell ")
        cell = cell_at(source_bytes(path), wanted)
        if cell is None:
            raise MigrateError(f"{name}: no such code cell; write the cell and the line as findings do")
        where, what, text = f"{where}:cell {wanted}", "cell", cell
    lines = split_lines(text)
    lines = lines[:-1] if len(lines) > 1 and not lines[-1] else lines
    if not 1 <= line <= len(lines):
        raise MigrateError(f"{name}:{line}: the {what} has {plural(len(lines), 'line')}; give one of these")
    return _Line(where, line, lines[line - 1].strip())


def _page(here: _Line, judged: _Judged) -> Iterator[str]:
    result = judged.result
    yield from _wrap(f"{here.path}:{here.number}: {here.source or '(an empty line)'}", "    ")
    yield from _wrap(f"({judged.how})", "    ")
    tables = [table for table in judged.tables if _touches(table, judged.findings(table), here)]
    covering = [f for f in result.findings if _covers(f.location, here) and not f.table]
    yield from _section("Found on this line", [_sentence(finding) for finding in covering])
    if not (tables or covering):
        yield ""
        yield from _wrap(f"No rule applies to this line{_other_tables(result)}.")
    for table in tables:
        yield from _table(table, judged, here)


def _at(place: Location, home: str) -> str:
    """Return a line in words, with its cell in a notebook, and with its file if that is not `home`."""
    file = notebook_of(place.path)
    cell = place.path.removeprefix(file).removeprefix(":")
    line = f"{cell} line {place.line}" if cell else f"line {place.line}"
    return line if file == home else f"{file} {line}"


def _all_at(places: Sequence[Location], home: str) -> str:
    """Return lines in words, those of a file, or of a notebook's cell, together."""
    texts = []
    for path in dict.fromkeys(place.path for place in places):
        first, *more = (place for place in places if place.path == path)
        said = _at(first, home).replace("line ", "lines ") if more else _at(first, home)
        texts.append(", ".join([said, *(str(place.line) for place in more)]))
    return "; ".join(texts)


def _touches(table: TableRecord, findings: Sequence[Finding], here: _Line) -> bool:
    own = [place for f in findings for place in (f.location, *(step.location for step in f.steps))]
    return any(_covers(place, here) for place in (table.location, *table.lookups, *own))


def _covers(place: Location, here: _Line) -> bool:
    """True for a place that includes this line; False for a whole file."""
    line = here.number
    return place.path == here.path and place.line <= line <= place.end_line and (place.line > 1 or line == 1)


def _other_tables(result: SourceResult) -> str:
    if result.kind == "other":
        return ": the file imports neither TensorFlow, nor Keras, nor Paddle"
    if not result.tables:
        return "; no table was found in this file"
    named = ", ".join(
        f"`{table.name}` ({_at(table.location, notebook_of(table.location.path))})" for table in result.tables[:8]
    )
    more = len(result.tables) - 8
    return f"; the tables of this file are {named}{f' and {more} more' if more > 0 else ''}"


def _table(table: TableRecord, judged: _Judged, here: _Line) -> Iterator[str]:
    home = notebook_of(here.path)
    yield ""
    in_graph = table.applicability is Applicability.IN_GRAPH
    verdict = words.table_state(table) if in_graph else VERDICTS.get(table.verdict, "")
    yield from _wrap(f"Table `{table.name}`, created at {_at(table.location, home)}: {verdict}")
    facts = [
        ("rows", table.rows),
        ("dim", table.dim),
        ("initializer", table.initializer),
        ("trained by", table.optimizer),
    ]
    read = [f"{name} {' '.join(value.split())}" for name, value in facts if value]
    if read:
        yield from _wrap("  properties: " + "; ".join(read), "    ")
    uses = list(_uses(table, judged.findings(table)))
    if len({use.place.path for use in uses}) == 1:  # cells of a notebook are already in order
        uses.sort(key=lambda use: use.place.line)
    shown: set[tuple[FlowStep, ...]] = set()
    for use in uses:
        alike = [one.place for one in uses if (one.text, one.steps) == (use.text, ())]
        if not use.steps and len(alike) > SEVERAL:
            if use.place is alike[0]:
                yield from _wrap(f"  {_all_at(alike, home)}: {use.text}", "    ")
            continue
        yield from _wrap(f"  {_at(use.place, home)}: {use.text}", "    ")
        steps = use.steps
        if use.finding is not None and steps and (steps[:-1] not in shown or _covers(use.place, here)):
            shown.add(steps[:-1])  # uses that are reached alike are told once
            yield from _wrap(f"    {words.way(use.finding, lambda place: _at(place, home))}", "      ")
    yield from _reasons(table, judged, {use.text for use in uses}, home)


def _uses(table: TableRecord, findings: Sequence[Finding]) -> Iterator[_Use]:
    """Yield the uses of the table, each with its verdict."""
    own = [f for f in findings if (f.subject, f.state) != ("lookup", State.NOTED)]
    covered = {(f.location.path, f.location.line, f.location.end_line) for f in own if f.subject == "lookup"}
    kept = {f.location: f for f in findings if (f.subject, f.state) == ("lookup", State.NOTED)}
    moves = table.verdict in DONE
    how = "moved at run time" if table.applicability is Applicability.IN_GRAPH else "converted"
    for finding in own:
        yield _Use(finding.location, _sentence(finding), finding)
    for place in table.lookups:
        if (place.path, place.line, place.end_line) not in covered:
            verdict = f"{how} with the table" if moves else "convertible, but something else keeps the table unchanged"
            yield _Use(place, f"lookup: {verdict}", kept.get(place))


def _reasons(table: TableRecord, judged: _Judged, shown: set[str], home: str) -> Iterator[str]:
    """Yield the blockers of the table that are not among its uses, with what to change."""
    known = {f"{f.message}: {f.reason}": f for one in judged.results for f in one.findings}
    for reason in table.reasons:
        finding = known.get(re.sub(r" \([^()]*:\d+\)$", "", reason)) or known.get(reason)
        if finding is not None and _sentence(finding) in shown:
            continue
        where = f"{_at(finding.location, home)}, " if finding is not None and finding.before else ""
        text = _sentence(finding) if finding is not None else reason
        yield from _wrap(f"  blocked by: {where}{text}", "    ")


def _sentence(finding: Finding) -> str:
    """Return a finding as one sentence: rule, message, reason, action and assumptions."""
    reason = f": {finding.reason}" if finding.reason else ""
    action = f"; remedy: {finding.action}" if finding.action else ""
    assumed = f"; assumes: {', '.join(finding.assumptions)}" if finding.assumptions else ""
    decided = f"; decided by a recorded run: {', '.join(finding.evidence)}" if finding.evidence else ""
    return f"{finding.rule}: {finding.message}{reason}{action}{assumed}{decided}"


def _section(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield ""
        yield title
        for item in dict.fromkeys(items):
            yield from _wrap(f"  {item}", "    ")


def _wrap(text: str, indent: str = "") -> list[str]:
    columns = shutil.get_terminal_size((WIDTH, 0)).columns  # those of COLUMNS, else of the terminal, if it is one
    width = min(WIDTH, columns)
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)


#: Names whose presence marks the root of a project.
MARKERS = ("pyproject.toml", "setup.cfg", "setup.py", ".git")


def home_of(path: Path) -> Path:
    """Return the nearest directory above a file that is the root of a project or the working directory.

    If there is neither, return the directory of the file, or the one that contains its outermost package.
    """
    here = Path.cwd()
    above = path.resolve().parents
    for directory in above:
        whole = directory in (Path.home(), directory.parent)  # too large to analyse: a home directory, or `/`
        if any((directory / name).exists() for name in MARKERS) or (directory == here and not whole):
            return directory
    return next(one for one in above if not (one / "__init__.py").exists())
