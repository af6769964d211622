"""What a report has of each table, and names of elements for it on a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from migrate.report import summary, words
from migrate.report.model import Comparison, Finding, Memory, Report, TableRecord
from migrate.report.table_names import proven_tables, tables_of
from rewriter.plan.region import ADDED, REMOVED, Arrow, Region


@dataclass(frozen=True)
class TablePart:
    """What a report has of one table, besides its record."""

    anchor: str
    findings: tuple[Finding, ...]
    comparisons: tuple[
        Comparison, ...
    ]  #: those with the name of the table, or of one of several, as a component of theirs
    memory: tuple[Memory, ...]

    @property
    def proof(self) -> str:
        """The result of the comparisons in words; empty where there is none."""
        if not self.comparisons:
            return ""
        equal = sum(comparison.verdict == "equal" for comparison in self.comparisons)
        compared = summary.plural(len(self.comparisons), "comparison")
        return f"{equal} of {compared} equal, largest relative difference {words.number(self.worst)}"

    @property
    def worst(self) -> float:
        """The largest relative difference of the comparisons; 0 where there is none."""
        return words.largest(comparison.max_rel for comparison in self.comparisons)

    @property
    def drawings(self) -> list[Region]:
        """The parts of the graph around the table, of the findings that have one."""
        return [finding.drawing for finding in self.findings if finding.drawing]


def table_parts(report: Report) -> list[TablePart]:
    """Return a part for each table of the report, in its order."""
    findings: dict[str, list[Finding]] = {}
    for finding in report.findings:
        findings.setdefault(finding.table, []).append(finding)
    compared = [one for item in report.verifications for one in item.comparisons]
    held = [one for item in report.verifications for one in item.memory]
    alike: dict[str, list[TableRecord]] = {}
    for table in report.tables:
        alike.setdefault(table.name, []).append(table)
    anchors = unique(f"t-{slug(table.name)}" for table in report.tables)
    proven = tables_of(report.tables, proven_tables(report.verifications))
    return [
        TablePart(
            anchor,
            tuple(_own(table, findings.get(table.name, ()), alike[table.name])),
            tuple(_named({table.name} | names, compared)),
            tuple(one for one in held if one.table in names),
        )
        for table, anchor, names in zip(report.tables, anchors, proven, strict=True)
    ]


def _own(table: TableRecord, findings: Iterable[Finding], alike: Sequence[TableRecord]) -> Iterator[Finding]:
    """Yield the findings about a table; of several `alike` in name, those in the file and in the lines that make it."""
    for finding in findings if table.name else ():
        makers = [other for other in alike if _is_in(finding, other)]
        if len(alike) == 1 or (finding.location.path == table.location.path and (not makers or table in makers)):
            yield finding


def _is_in(finding: Finding, table: TableRecord) -> bool:
    """True for a finding in the lines in which a table is made."""
    place, creation = finding.location, table.location
    return place.path == creation.path and creation.line <= place.line <= creation.end_line


def _named(tables: Collection[str], comparisons: Sequence[Comparison]) -> Iterator[Comparison]:
    names = "|".join(map(re.escape, sorted(filter(None, tables))))
    named = re.compile(rf"(?:^|[^\w])(?:{names})(?:$|[^\w])")
    return (one for one in comparisons if names and named.search(one.name))


def side(region: Region, state: str) -> Region:
    """Return a region as it is before a rewrite (`removed`) or after it (`added`)."""
    other = REMOVED if state == ADDED else ADDED
    kept = [at for at, box in enumerate(region.boxes) if box.state != other]
    places = {at: number for number, at in enumerate(kept)}
    arrows = (
        Arrow(places[one.start], places[one.end], one.state, one.control)
        for one in region.arrows
        if one.state != other and one.start in places and one.end in places
    )
    return Region(region.table, tuple(region.boxes[at] for at in kept), tuple(arrows))


def slug(text: str) -> str:
    """Return letters and digits of a text, with dashes for all else."""
    return re.sub(r"[^0-9A-Za-z]", "-", text)


def unique(names: Iterable[str]) -> list[str]:
    """Return the names, each with a number where it was there before."""
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        numbered.append(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return numbered
