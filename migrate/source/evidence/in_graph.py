"""Tables that a recorded graph moves: where the source does not, the program rewrites its graphs by one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from migrate.report.model import Applicability, Finding, Location, State, TableRecord, with_ids
from migrate.report.summary import plural
from migrate.source.evidence.entry_line import with_install
from migrate.source.evidence.runs import Evidence
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from migrate.source.settings.suppressions import read_comments
from migrate.trace.record import Line, Variable

RULE = "in-graph"
_OPEN = frozenset({State.SUGGESTED, State.UNSUPPORTED})


@dataclass
class _Site:
    """A place that makes variables which graphs look up, and what the graphs say of them."""

    path: str  #: of the file, as it is shown
    line: int
    table: TableRecord | None  #: what the source says of it
    made: list[tuple[Evidence, Variable]] = field(default_factory=list)

    @property
    def moves(self) -> bool:
        """Whether all of them move, and the source does not move them."""
        return (self.table is None or self.table.verdict in _OPEN) and all(one.table for _, one in self.made)

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which they move."""
        return tuple(sorted({one.table for _, one in self.made}))


def moved_in_graph(results: Sequence[SourceResult], options: Options, texts: Mapping[str, str]) -> list[SourceResult]:
    """Return the results with the tables that move in the graphs of the evidence, and the line that moves them.

    `texts` are those of all files of the run, among which the program's first one may be of none of the results.
    """
    known = {one.path: one for one in results}
    runs = [one for one in options.evidence if _may_install(one, texts)]
    if not runs or not options.selection.wants(RULE):
        return list(results)
    sites = list(_sites(runs, known, texts))
    moving = [site for site in sites if site.moves]
    for path in dict.fromkeys(site.path for site in sites):
        own = [site for site in sites if site.path == path]
        known[path] = _with_tables(known.get(path) or _result(path, texts), own)
    left = {table.name for one in known.values() for table in one.tables if table.verdict in _OPEN}
    gone = {site.table.name for site in moving if site.table is not None} - left
    known = {path: _settled(one, gone, not left) for path, one in known.items()} if moving else known
    entries: dict[str, set[str]] = {}
    for site in moving:
        for run, variable in site.made:
            entries.setdefault(run.entry, set()).add(variable.table)
    for entry, names in entries.items():
        modules = {path.removesuffix(".py").rpartition("/")[2] for path in texts} | {
            part for path in texts for part in path.split("/")[:-1]
        }
        known[entry] = _with_line(known.get(entry) or _result(entry, texts), sorted(names), modules)
    return list(known.values())


def _may_install(run: Evidence, texts: Mapping[str, str]) -> bool:
    return run.completed and run.entry in texts and "rewriter.install(" not in texts[run.entry]


def _result(path: str, texts: Mapping[str, str]) -> SourceResult:
    return SourceResult(path, "other", texts[path], texts[path])


def _sites(runs: Sequence[Evidence], known: Mapping[str, SourceResult], texts: Mapping[str, str]) -> Iterator[_Site]:
    """Yield the places that make the variables which the runs look up."""
    tables = [(table, result) for result in known.values() for table in result.tables]
    found: dict[tuple[str, int], _Site] = {}
    for run in runs:
        paths = {name: path for path, name in run.names}
        for variable in (one for graph in run.record.graphs for one in graph.variables if one.table or one.stays):
            lines = [(paths[name], line) for name, line in variable.made if name in paths]
            table, result = _table_of(variable, lines, tables)
            if result is not None and table is not None:
                if result.target == "runtime":
                    key = (result.path, -1 - result.tables.index(table))
                    site = found.setdefault(key, _Site(result.path, table.location.line, table))
                    site.made.append((run, variable))
            elif lines and read_comments(texts[lines[0][0]]).whole_file is None:
                found.setdefault(lines[0], _Site(*lines[0], None)).made.append((run, variable))
    yield from found.values()


def _table_of(
    variable: Variable, lines: Sequence[Line], tables: Sequence[tuple[TableRecord, SourceResult]]
) -> tuple[TableRecord | None, SourceResult | None]:
    """Return what the source says of a variable: of the innermost line that made it, or of the column of its name."""
    for path, line in lines:
        for table, result in tables:
            place = table.location
            if place.path == path and place.line <= line <= place.end_line:
                return table, result
    parts = variable.name.split("/")
    columns = [one for one in tables if any(fnmatchcase(part, one[0].name) for part in parts[:-1])]
    return columns[0] if columns else (None, None)


def _with_tables(result: SourceResult, sites: Sequence[_Site]) -> SourceResult:
    """Return the result of a file with the verdicts of graphs on the tables that the source does not move."""
    tables, findings = list(result.tables), list(result.findings)
    for site in sites:
        if site.moves:
            record, finding = _moved(site)
            findings.append(finding)
            if site.table is None:
                tables.append(record)
            else:
                tables[tables.index(site.table)] = record
        elif site.table is not None and site.table.verdict in _OPEN:
            told = [
                f"in the graph `{one.name}` stays: {one.stays} ({run.place})" for run, one in site.made if one.stays
            ]
            reasons = tuple(dict.fromkeys([*site.table.reasons, *told]))
            tables[tables.index(site.table)] = replace(site.table, reasons=reasons)
    return replace(result, tables=tuple(tables), findings=with_ids(findings))


def _moved(site: _Site) -> tuple[TableRecord, Finding]:
    place = Location(site.path, site.line, site.line) if site.table is None else site.table.location
    names = ", ".join(f"`{name}`" for name in site.names)
    record = replace(
        site.table or _record(site, place), verdict=State.APPLIED, applicability=Applicability.IN_GRAPH, reasons=()
    )
    finding = Finding(
        RULE,
        "table",
        State.APPLIED,
        place,
        f"{names} {'moves' if len(site.names) == 1 else 'move'} in the graph",
        "; ".join(site.table.reasons) if site.table is not None else "the source shows no lookup of it",
        applicability=Applicability.IN_GRAPH,
        table=record.name,
        evidence=tuple(dict.fromkeys(run.place for run, _ in site.made)),
    )
    return record, finding


def _record(site: _Site, place: Location) -> TableRecord:
    """Return a record of variables that the source shows no lookup of."""
    run, first = site.made[0]
    paths = {name: path for path, name in run.names}
    lookups = [use.at[0] for use in first.uses if use.kind == "lookup" and use.at and use.at[0][0] in paths]
    optimizers = {use.optimizer.rpartition(".")[2] for use in first.uses if use.optimizer}
    return TableRecord(
        site.names[0],
        place,
        State.APPLIED,
        Applicability.IN_GRAPH,
        "" if len(first.shape) < 2 else str(first.shape[-1]),
        str(first.shape[0]) if first.shape else "",
        "",
        ", ".join(sorted(optimizers)),
        tuple(Location(paths[name], line, line) for name, line in dict.fromkeys(lookups)),
    )


def _settled(result: SourceResult, gone: set[str], all_moved: bool) -> SourceResult:
    """Return the result with notes in place of what kept the tables that move now."""
    findings = [
        replace(one, state=State.NOTED)
        if one.state in _OPEN and one.subject == "use" and (one.table in gone or (all_moved and not one.table))
        else one
        for one in result.findings
    ]
    return replace(result, findings=tuple(findings))


def _with_line(result: SourceResult, names: Sequence[str], modules: set[str]) -> SourceResult:
    """Return the result of the program's first file with the line that moves these variables."""
    converted, line, new = with_install(result.converted, names, modules)
    finding = Finding(
        RULE,
        "import",
        State.APPLIED,
        Location(result.path, min(line, result.original.count("\n") + 1), line),
        f"`rewriter.install` moves {plural(len(names), 'variable')} when the program runs",
        applicability=Applicability.IN_GRAPH,
        after=new,
    )
    return replace(result, converted=converted, findings=with_ids([*result.findings, finding]))
