"""What a report has of each table, and names of elements for it on a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from migrate.report import summary, words
from migrate.report.model import Comparison, Finding, Memory, Report, TableRecord
from rewriter.plan.region import ADDED, REMOVED, Arrow, Region


@dataclass(frozen=True)
class TablePart:
    """What a report has of one table, besides its record."""

    anchor: str
    findings: tuple[Finding, ...]
    comparisons: tuple[Comparison, ...]  #: those whose tensor's name contains the table's name as a component
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
    shared = {name for name, count in Counter(table.name for table in report.tables).items() if count > 1}
    anchors = unique(f"t-{slug(table.name)}" for table in report.tables)
    return [
        TablePart(
            anchor,
            tuple(_own(table, findings.get(table.name, ()), table.name in shared)),
            tuple(_named(table.name, compared)),
            tuple(one for one in held if one.table == table.name),
        )
        for table, anchor in zip(report.tables, anchors, strict=True)
    ]


def _own(table: TableRecord, findings: Iterable[Finding], shared: bool) -> Iterator[Finding]:
    """Yield the findings about a table; where another one has its `shared` name, those in the file that makes it."""
    return (one for one in findings if table.name and (not shared or one.location.path == table.location.path))


def _named(table: str, comparisons: Sequence[Comparison]) -> Iterator[Comparison]:
    named = re.compile(rf"(?:^|[^\w]){re.escape(table)}(?:$|[^\w])")
    return (one for one in comparisons if table and table in one.name and named.search(one.name))


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
    found = []
    for name in names:
        found.append(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found
