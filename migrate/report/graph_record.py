"""Reads a graph rewrite, recorded by a hook or planned by `migrate graph`, as a report; needs no TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from migrate import __version__
from migrate.errors import MigrateError
from migrate.report.decode import decode
from migrate.report.graph_proof import read_proof
from migrate.report.model import (
    GRAPH_RULE,
    Applicability,
    Finding,
    InputFile,
    Location,
    Report,
    RuleRecord,
    Stage,
    State,
    TableRecord,
    with_ids,
)
from migrate.report.summary import plural
from rewriter.plan.region import Region
from rewriter.words import places, stepped_as

RECORD = "recmigrate-graph"
_SOURCE = re.compile(r"(?P<path>.*):(?P<line>\d+)(?: in (?P<scope>.*))?", re.DOTALL)


@dataclass(frozen=True)
class _Lookup:
    op: str
    rule: str = "lookup"
    source: str = ""


@dataclass(frozen=True)
class _Whole:
    """A gradient of all rows."""


@dataclass(frozen=True)
class _Update:
    rule: str
    source: str = ""
    whole: _Whole | None = None

    @property
    def optimizer(self) -> str:
        """The optimizer that it steps as."""
        return stepped_as(self.rule, self.whole)


@dataclass(frozen=True)
class _NewRows:
    kind: str
    a: float
    b: float
    assumption: str = ""


@dataclass(frozen=True)
class _Table:
    name: str
    rows: int
    dim: int
    lookups: tuple[_Lookup, ...]
    updates: tuple[_Update, ...]
    new_rows: _NewRows | None = None
    source: str = ""


@dataclass(frozen=True)
class _Refusal:
    table: str
    reason: str
    path: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    source: str = ""
    built: str = ""


@dataclass(frozen=True)
class _SavedTable:
    table: str


@dataclass(frozen=True)
class _Saver:
    op: str
    restores: bool
    tables: tuple[_SavedTable, ...]


@dataclass(frozen=True)
class _Plan:
    tables: tuple[_Table, ...]
    refusals: tuple[_Refusal, ...]
    savers: tuple[_Saver, ...] = ()
    regions: tuple[Region, ...] = ()


@dataclass(frozen=True)
class _Staying:
    table: str
    op: str
    reason: str
    path: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True)
class _Ids:
    moved: int
    passing: int
    staying: tuple[_Staying, ...]


@dataclass(frozen=True)
class _Growth:
    growth: tuple[str, ...] = ()


def is_record(data: Any) -> bool:
    """Return whether a file's JSON is a record written by `GraphModifierHook(report=...)`."""
    schema = data.get("schema") if isinstance(data, dict) else None
    return isinstance(schema, dict) and schema.get("name") == RECORD


def read_record(data: Any, origin: str) -> Report:
    """Return the report of a hook's record. Raises `MigrateError` for a newer format or a damaged record."""
    major = data["schema"].get("major")
    if major != 1:
        raise MigrateError(f"`{origin}` has graph format {major}, but this version reads format 1; upgrade recmigrate")
    command, facts = data.get("command"), data.get("environment")
    if not isinstance(command, str) or not isinstance(facts, dict):
        raise MigrateError(f"`{origin}`: `command` or `environment` is missing; run the hook again to rewrite the file")
    report = plan_report(data.get("plan"), command, origin, written="the graph of the session, not the source")
    ids = decode(_Ids, data.get("ids"), origin)
    return replace(
        report,
        findings=(*report.findings, *with_ids(_staying(one) for one in ids.staying), *with_ids(_growth(data, origin))),
        stages=(*report.stages, *_id_stage(ids)),
        verifications=(read_proof(data["proof"], origin),) if data.get("proof") else (),
        environment=tuple((str(name), str(value)) for name, value in facts.items()),
    )


#: What the rules of graphs say of themselves; those of source are in the catalogue.
_RULES = (
    RuleRecord(
        GRAPH_RULE,
        "A variable of the graph that is looked up becomes a dynamic table",
        "Every use of the variable is followed through the graph. It is replaced if all of them are understood.",
    ),
    RuleRecord(
        "graph-ids",
        "Ids that are computed in the step may be computed in the dataset",
        "A note: the step converts, and may be faster if the dataset computes the ids.",
    ),
    RuleRecord(
        "graph-growth",
        "A table can grow, or something bounds its ids",
        "A note: where the graph divides ids into buckets, a table never has more rows, and ids share them.",
    ),
)


def plan_report(
    plan: Any, command: str, origin: str, inputs: Iterable[InputFile] = (), written: str | None = None
) -> Report:
    """Return the report of a rewriter's plan, given as JSON types.

    Args:
        plan: the plan, as `Plan.to_json` writes it.
        command: the command line of the run.
        origin: file name for error messages.
        inputs: the files of the graph, which stand in for unknown source lines.
        written: where the result was written; None if the graph was only analysed.
    """
    read, files = decode(_Plan, plan, origin), tuple(inputs)
    place = files[0].path if files else "graph"
    regions = {region.table: region for region in read.regions}
    findings = [_moved(table, read.savers, regions.get(table.name), place, written) for table in read.tables]
    findings += [_refused(refusal, place) for refusal in read.refusals]
    count = f"{len(read.tables)} of {plural(len(findings), 'variable')} looked up"
    return Report(
        command=command,
        tool_version=__version__,
        inputs=files,
        stages=(
            Stage("judge", "ok", f"{count} can be converted" if findings else "no variable is looked up"),
            Stage(
                "rewrite", "ok" if written and read.tables else "not run", written if read.tables and written else ""
            ),
        ),
        findings=_with_ids(findings),
        tables=(
            *(_table(table, place, written) for table in read.tables),
            *(_stays(refusal, place) for refusal in read.refusals),
        ),
        rules=_RULES,
    )


def _with_ids(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Set ids that depend on the variable's name, not on line, file or verdict: names identify variables in a graph."""
    listed = list(findings)
    bare = with_ids(replace(one, location=Location("", 0, 0)) for one in listed)
    return tuple(
        replace(one, id=known.id, fallback_id=known.fallback_id) for one, known in zip(listed, bare, strict=True)
    )


def _moved(table: _Table, savers: Iterable[_Saver], region: Region | None, place: str, written: str | None) -> Finding:
    assumption = table.new_rows.assumption if table.new_rows else ""
    return Finding(
        rule=GRAPH_RULE,
        subject="table",
        state=State.AVAILABLE if written is None else State.APPLIED,
        location=_location(table.source, place),
        message=_message(table.name),
        reason=_how(table, sum(table.name in {saved.table for saved in saver.tables} for saver in savers)),
        applicability=Applicability.ASSUMPTION if assumption else Applicability.EXACT,
        assumptions=(f"initial values of new ids: {assumption}",) if assumption else (),
        table=table.name,
        drawing=region,
    )


def _message(name: str) -> str:
    """Return the message, the same for every verdict, because the finding's id is made from it."""
    return f"rows of the variable `{name}` are looked up"


def _how(table: _Table, savers: int) -> str:
    kinds = dict.fromkeys(one.rule for one in table.lookups)
    parts = [_counted(kind, [one.source for one in table.lookups if one.rule == kind]) for kind in kinds]
    rules = dict.fromkeys(one.optimizer for one in table.updates)
    parts += [
        f"trained by {rule}{places((one.source for one in table.updates if one.optimizer == rule), 6)}"
        for rule in rules
    ]
    parts += [] if rules else ["not trained"]
    parts += [f"saved and restored by {plural(savers, 'Saver op')}"] if savers else []
    if table.new_rows:
        parts.append(f"rows of new ids start as {_start(table.new_rows)}")
    return f"converted to a table of {table.rows:,} × {table.dim}: " + ", ".join(parts)


def _start(new: _NewRows) -> str:
    return f"{new.a:g}" if new.kind == "constant" else f"{new.kind}({new.a:g}, {new.b:g})"


def _counted(noun: str, sources: list[str]) -> str:
    return plural(len(sources), noun) + places(sources, 6)


def _refused(refusal: _Refusal, place: str) -> Finding:
    way = " → ".join(f"`{op}`" for op in refusal.path)
    return Finding(
        rule=GRAPH_RULE,
        subject="table",
        state=State.UNSUPPORTED,
        location=_location(refusal.source, place),
        message=_message(refusal.table),
        reason=f"it is not converted: {refusal.reason}" + (f"; path: {way}" if way else ""),
        action=f"remove the blocker of `{refusal.table}`, or keep the variable: the model works with it as before",
        table=refusal.table,
    )


def _staying(lookup: _Staying) -> Finding:
    way = " → ".join(f"`{op}`" for op in lookup.path)
    return Finding(
        rule="graph-ids",
        subject="lookup",
        state=State.NOTED,
        location=_location(lookup.source, "graph"),
        message=f"the ids of `{lookup.op}` are computed in the step, not in the dataset",
        reason=lookup.reason + (f"; path: {way}" if way else ""),
        table=lookup.table,
    )


def _growth(data: Any, origin: str) -> Iterator[Finding]:
    """Yield a note for each bound of tables, and for none; records before 1.2 have no `growth`."""
    for line in decode(_Growth, data, origin).growth:
        message, _, rest = line.partition(": ")
        reason, _, action = rest.partition("; ")
        yield Finding("graph-growth", "table", State.NOTED, Location("graph", 0, 0), message, reason, action)


def _id_stage(ids: _Ids) -> Iterator[Stage]:
    from_input = ids.moved + ids.passing
    total = from_input + len(ids.staying)
    if total:
        yield Stage(
            "ids", "ok", f"the ids of {from_input} of {plural(total, 'lookup')} come from the input pipeline (tf.data)"
        )


def _table(table: _Table, place: str, written: str | None) -> TableRecord:
    return TableRecord(
        name=table.name,
        location=_location(table.source, place),
        verdict=State.AVAILABLE if written is None else State.APPLIED,
        applicability=Applicability.ASSUMPTION if table.new_rows and table.new_rows.assumption else Applicability.EXACT,
        dim=str(table.dim),
        rows=str(table.rows),
        initializer="as the variable; new ids: " + _start(table.new_rows) if table.new_rows else "",
        optimizer=", ".join(dict.fromkeys(one.optimizer for one in table.updates)),
        lookups=tuple(_location(one.source, place) for one in table.lookups),
    )


def _stays(refusal: _Refusal, place: str) -> TableRecord:
    return TableRecord(
        name=refusal.table,
        location=_location(refusal.built, place),
        verdict=State.UNSUPPORTED,
        applicability=None,
        dim=" × ".join(map(str, refusal.shape[1:])),
        rows=str(refusal.shape[0]) if refusal.shape else "",
        initializer="",
        optimizer="",
        reasons=(refusal.reason,),
    )


def _location(source: str, place: str) -> Location:
    """Return the location of a source line, or of the whole graph file if the line is unknown."""
    match = _SOURCE.fullmatch(source)
    if not match:
        return Location(place, 0, 0)
    line = int(match["line"])
    return Location(match["path"], line, line, match["scope"] or "")
