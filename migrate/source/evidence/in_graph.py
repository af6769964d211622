"""Tables that a recorded graph moves, and the source does not: the program moves them when it runs, by one line."""

from __future__ import annotations

import ast
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from migrate.report.model import Applicability, Finding, Location, State, TableRecord, with_ids
from migrate.report.summary import plural
from migrate.source.evidence.runs import Evidence
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.suppressions import read_comments
from migrate.trace.record import Line, Variable
from rewriter.table_settings import called
from rewriter.words import listed

RULE = "in-graph"
#: How a note begins on what the source has against a table that moves in the graph.
OVERRULED = "overruled by a recorded run"
_OPEN = frozenset({State.SUGGESTED, State.UNSUPPORTED})
_WORK = _OPEN | {State.OPAQUE}
_FRAMEWORKS = frozenset({"tensorflow", "tensorflow_estimator", "keras", "tf_keras"})
_WIDTH = 120


@dataclass
class _Site:
    """A place that makes variables which graphs look up, and what the graphs say of them."""

    place: Location
    table: TableRecord | None  #: what the source says of it
    variables: list[tuple[Evidence, Variable]] = field(default_factory=list)

    @property
    def moves(self) -> bool:
        """Whether all of them move, and the source does not move them."""
        return (self.table is None or self.table.verdict in _OPEN) and all(
            variable.table for _, variable in self.variables
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which they move, as users call them."""
        return tuple(sorted({*called({variable.table for _, variable in self.variables}).values()}))


def moved_in_graph(
    results: Sequence[SourceResult], evidence: Sequence[Evidence], texts: Mapping[str, str]
) -> list[SourceResult]:
    """Return the results with the tables that move in the graphs of the evidence, and the line that moves them.

    `texts` are those of all files of the run, among which the program's first one may be of none of the results.
    """
    runs = [one for one in evidence if one.completed and "rewriter.install(" not in texts[one.entry]]
    known = {path: SourceResult(path, "other", text, text) for path, text in texts.items()}
    known |= {one.path: one for one in results}
    entries: dict[str, set[str]] = {}
    moved: set[str] = set()
    bounded: dict[tuple[str, str], list[_Site]] = {}
    ran = {path for run in runs for path, _ in run.names}
    for site in _sites(runs, {path: one for path, one in known.items() if path in ran}):
        known[site.place.path] = _with_verdict(known[site.place.path], site)
        for bound in dict.fromkeys(variable.bound for _, variable in site.variables if variable.bound):
            bounded.setdefault((site.place.path, bound), []).append(site)
        if site.moves:
            moved |= {site.table.name} if site.table is not None else set()
            for run, variable in site.variables:
                entries.setdefault(run.entry, set()).add(variable.table)
    left = {table.name for one in known.values() for table in one.tables if table.verdict in _OPEN}
    for (path, bound), sites in bounded.items():
        known[path] = _with_bound(known[path], bound, sites)
    places = tuple(f"{run.place} decides" for run in runs)
    for path in known if entries else ():
        known[path] = _settled(known[path], moved - left, not left, places)
    for entry, names in entries.items():
        known[entry] = _with_line(known[entry], sorted(names), {part for path in texts for part in _modules(path)})
    before = {one.path for one in results}
    return [one for one in known.values() if one.path in before or one.findings]


def _modules(path: str) -> list[str]:
    return path.removesuffix(".py").split("/")


def _sites(runs: Sequence[Evidence], known: Mapping[str, SourceResult]) -> Iterator[_Site]:
    """Yield the places that make the variables which the runs look up, but for files that the user leaves out."""
    tables = [table for result in known.values() if result.target == "runtime" for table in result.tables]
    sites: dict[object, _Site] = {}
    for run in runs:
        paths = {name: path for path, name in run.names}
        for variable in (one for graph in run.record.graphs for one in graph.variables if one.table or one.stays):
            lines = [(paths[name], line) for name, line in variable.created if name in paths]
            table = table_of(variable, lines, tables)
            if table is not None:
                sites.setdefault(id(table), _Site(table.location, table)).variables.append((run, variable))
            elif lines and _is_open(known[lines[0][0]]):
                place = Location(lines[0][0], lines[0][1], lines[0][1])
                sites.setdefault(place, _Site(place, None)).variables.append((run, variable))
    yield from sites.values()


def _is_open(result: SourceResult) -> bool:
    return result.target == "runtime" and read_comments(result.original).whole_file is None


def table_of(variable: Variable, lines: Sequence[Line], tables: Sequence[TableRecord]) -> TableRecord | None:
    """Return what the source says of a variable: of the innermost line that made it, or of the column of its name.

    Where several tables that the source leaves open have this name, it is none of them: it may be any.
    """
    for path, line in lines:
        for table in tables:
            place = table.location
            if place.path == path and place.line <= line <= place.end_line:
                return table
    parts = variable.name.split("/")[:-1]
    alike = [one for one in tables if any(fnmatchcase(part, one.name) for part in parts)]
    is_open = len(alike) > 1 and any(one.verdict in _OPEN for one in alike)
    return alike[0] if alike and not is_open else None


def _with_verdict(result: SourceResult, site: _Site) -> SourceResult:
    """Return the result of a file with the verdict of the graphs on a table that the source does not move."""
    before = site.table
    if not site.moves:
        if before is None or before.verdict not in _OPEN:
            return result
        said = [
            f"`{one.name}` stays a variable in a recorded run: {one.stays} ({run.place})"
            for run, one in site.variables
            if one.stays
        ]
        kept = replace(before, reasons=tuple(dict.fromkeys([*before.reasons, *said])))
        return replace(result, tables=tuple(kept if one is before else one for one in result.tables))
    record = before or _record(site)
    record = replace(record, verdict=State.APPLIED, applicability=Applicability.IN_GRAPH, reasons=())
    finding = Finding(
        RULE,
        "table",
        State.APPLIED,
        site.place,
        f"{listed(site.names)} {'becomes a table' if len(site.names) == 1 else 'become tables'} when the program runs",
        _source_says(before),
        applicability=Applicability.IN_GRAPH,
        table=record.name,
        evidence=tuple(dict.fromkeys(f"it became a table in {run.place}" for run, _ in site.variables)),
    )
    tables = [*result.tables, record] if before is None else [record if one is before else one for one in result.tables]
    return replace(result, tables=tuple(tables), findings=_sorted([*result.findings, finding]))


def _with_bound(result: SourceResult, bound: str, sites: Sequence[_Site]) -> SourceResult:
    """Return the result of a file with a note on its tables that cannot grow, for a reason that a graph shows."""
    reason, _, action = bound.partition("; ")
    names = listed([*dict.fromkeys(name for site in sites for name in site.names if name)])
    finding = Finding(
        RULE,
        "table",
        State.NOTED,
        sites[0].place,
        f"{names} cannot grow",
        reason,
        action,
        evidence=tuple(dict.fromkeys(f"{run.place} shows this" for site in sites for run, _ in site.variables)),
    )
    return replace(result, findings=_sorted([*result.findings, finding]))


def _source_says(table: TableRecord | None) -> str:
    """Return why the source alone does not move a table."""
    if table is None:
        return "the source shows no lookup of such a variable"
    return f"the source alone leaves it unchanged: {'; '.join(table.reasons)}" if table.reasons else ""


def _sorted(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return with_ids(sorted(findings, key=lambda finding: (finding.location.line, finding.rule)))


def _record(site: _Site) -> TableRecord:
    """Return a record of variables that the source shows no lookup of."""
    rows, dim = ([str(size) for size in site.variables[0][1].shape] + ["1", "1"])[:2]
    rules = ", ".join(site.variables[0][1].rules)
    return TableRecord(site.names[0], site.place, State.APPLIED, None, dim, rows, "", rules)


def _settled(result: SourceResult, moved: set[str], all_moved: bool, decided: tuple[str, ...]) -> SourceResult:
    """Return the result with notes in place of what kept the tables that move now, and their lookups.

    They say what the source alone has against it, and no remedy: none is needed.
    """
    findings = []
    for finding in result.findings:
        if finding.subject == "use" and (
            (finding.state in _OPEN and finding.table in moved)
            or (finding.state in _WORK and all_moved and not finding.table)
        ):
            message = f"{OVERRULED}: {finding.message}"
            finding = replace(finding, state=State.NOTED, message=message, action="", evidence=decided)
        elif (finding.subject, finding.state) == ("lookup", State.NOTED) and finding.table in moved:
            message = f"a lookup in `{finding.table}`, which becomes a table when the program runs"
            finding = replace(finding, message=message, reason="", action="", evidence=decided)
        findings.append(finding)
    return replace(result, findings=tuple(findings))


def _with_line(result: SourceResult, names: Sequence[str], modules: set[str]) -> SourceResult:
    """Return the result of the program's first file with the line that moves these variables."""
    converted, above, new = with_install(result.converted, names, modules)
    finding = Finding(
        RULE,
        "import",
        State.APPLIED,
        Location(result.path, max(above, 1), max(above, 1)),
        f"`rewriter.install` replaces {plural(len(names), 'variable')} by tables when the program runs",
        applicability=Applicability.IN_GRAPH,
        after=new,
    )
    return replace(result, converted=converted, findings=_sorted([*result.findings, finding]))


def with_install(text: str, tables: Sequence[str], modules: Collection[str]) -> tuple[str, int, str]:
    """Return a program's text with the call, the number of lines above it, and what was inserted.

    It stands behind the first import of TensorFlow; else before the first import of one of `modules`, those of the
    program; else behind what must come first in a file. TensorFlow then has what the first lines set for it.
    """
    module = ast.parse(text)
    used = {getattr(node, word, None) for node in ast.walk(module) for word in ("id", "name", "asname", "arg")}
    name = "rewriter" if "rewriter" not in used | set(modules) else "graph_rewriter"
    imported = "import rewriter" if name == "rewriter" else f"import rewriter as {name}"
    names = [json.dumps(one, ensure_ascii=False) for one in tables]
    call = f"{name}.install(tables=[{', '.join(names)}])"
    if len(call) > _WIDTH:
        call = "\n    ".join([f"{name}.install(tables=[", *(f"{one}," for one in names)]) + "\n])"
    lines = list(io.StringIO(text, newline=""))  # as Python counts them
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    above = _place(module.body, modules)
    if above and not lines[above - 1].endswith(("\r", "\n")):
        lines[above - 1] += end
    lines.insert(above, f"{imported}\n{call}\n".replace("\n", end))
    return "".join(lines), above, f"{imported}\n{call}"


def _place(body: Sequence[ast.stmt], modules: Collection[str]) -> int:
    """Return the number of lines above the call."""
    framework = next((one for one in body if not _FRAMEWORKS.isdisjoint(_imported(one))), None)
    if framework is not None:
        return max(one.end_lineno or 0 for one in body if one.lineno <= (framework.end_lineno or 0))
    first = int(bool(body) and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant))
    while first < len(body) and "__future__" in _imported(body[first]):
        first += 1
    own = (number for number, one in enumerate(body) if not set(modules).isdisjoint(_imported(one)))
    at = max(first, next(own, first))
    return (body[at - 1].end_lineno or 0) if at else body[0].lineno - 1 if body else 0


def _imported(statement: ast.stmt) -> Iterator[str]:
    """Yield parts of the names of what a statement imports, also in a `try`."""
    if isinstance(statement, ast.Try):
        for inner in (*statement.body, *(one for handler in statement.handlers for one in handler.body)):
            yield from _imported(inner)
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        whole = statement.module if isinstance(statement, ast.ImportFrom) else ""
        for name in [whole] if whole else [one.name for one in statement.names]:
            yield from name.split(".")
