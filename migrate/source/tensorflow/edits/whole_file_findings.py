"""What is said of a file for another SDK, which is converted whole or not at all: findings and tables of its draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from migrate.report.model import Applicability, Finding, State, TableRecord
from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import without
from migrate.source.tensorflow.base.model import Stop, refused_state
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.user_choice import keep, quiet
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part


@dataclass
class WholeFile:
    """What becomes of a file for another SDK; nothing of any other."""

    edits: list[Edit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    records: list[TableRecord] = field(default_factory=list)

    def among(self, others: Sequence[Finding]) -> list[Finding]:
        """Return its findings with those of other rules, which do not know what these lookups read."""
        known = {found.location for found in self.findings if found.subject == "lookup"}
        unknown = {State.NOTED, State.OPAQUE}
        lost = [f for f in others if f.subject == "lookup" and f.state in unknown and f.location in known]
        return [*(f for f in others if all(f is not one for one in lost)), *self.findings]

    def joined(self, other: WholeFile) -> WholeFile:
        """Return this with what another SDK's reader says, of which at most one has edits."""
        return WholeFile(self.edits + other.edits, self.findings + other.findings, self.records + other.records)


@dataclass(frozen=True)
class Wording:
    """How messages call a file, its tables and the way to run it unchanged."""

    sdk: str
    tables: str
    as_is: str


def judged(draft: Draft, assume: bool, wording: Wording) -> WholeFile:
    """Return what becomes of a file whose draft is complete."""
    file = draft.file
    uses = [(part.call, part.rule) for part in draft.parts]
    keep(file, wording.tables, uses, draft.stops)
    quiet(file, [draft.stops])
    assumed = [stop for stop in draft.stops if stop.assumption and assume]
    stops = [stop for stop in draft.stops if not (stop.assumption and assume)]
    if not stops:
        draft.imports()
    findings = [*_findings(file, draft, stops, assumed, wording)]
    return WholeFile([] if stops else draft.edits, findings, [*_records(file, draft, stops, assumed)])


def _applicability(assumed: list[Stop]) -> Applicability:
    return Applicability.ASSUMPTION if assumed else Applicability.EXACT


def _findings(file: File, draft: Draft, stops: list[Stop], assumed: list[Stop], wording: Wording) -> Iterator[Finding]:
    state = refused_state(stops) if stops else State.APPLIED
    for part in draft.parts:
        gone = without(draft.dropped.get(id(part.call), ()))
        said = replace(part, reason="; ".join(filter(None, [part.reason, gone])))
        yield _kept(file, part, state, stops, wording) if stops else _applied(file, said, assumed)
    for stop in stops:
        before = "" if isinstance(stop.node, cst.Module) else file.tree.source(stop.node)
        told = (stop.assumption,) if stop.assumption else ()
        kept = State.SUGGESTED if stop.assumption else stop.state
        place, action = file.tree.location(stop.node), stop.action or wording.as_is
        yield Finding(stop.rule, "use", kept, place, stop.message, stop.reason, action, None, told, before)


def _table(part: Part) -> str:
    return part.label if part.subject in {"table", "lookup"} else ""


def _applied(file: File, part: Part, assumed: list[Stop]) -> Finding:
    return Finding(
        part.rule,
        part.subject,
        State.APPLIED,
        file.tree.location(part.call),
        part.message,
        part.reason,
        applicability=_applicability(assumed),
        assumptions=tuple(dict.fromkeys(stop.assumption for stop in assumed)),
        before=file.tree.source(part.call),
        after=part.after,
        table=_table(part),
    )


def _kept(file: File, part: Part, state: State, stops: list[Stop], wording: Wording) -> Finding:
    place, before = file.tree.location(part.call), file.tree.source(part.call)
    first = file.tree.location(stops[0].node)
    reason = f"line {first.line} keeps it" if first.line else stops[0].message
    message = f"`{' '.join(before.split())[:60]}` stays: a file for {wording.sdk} is converted whole or not at all"
    action = "" if state is State.NOTED else wording.as_is
    return Finding(part.rule, part.subject, state, place, message, reason, action, before=before, table=_table(part))


def _records(file: File, draft: Draft, stops: list[Stop], assumed: list[Stop]) -> Iterator[TableRecord]:
    for part in draft.parts:
        if part.subject != "table":
            continue
        yield TableRecord(
            part.label,
            file.tree.location(part.call),
            refused_state(stops) if stops else State.APPLIED,
            None if stops else _applicability(assumed),
            part.dim,
            "",
            part.initializer,
            "",
            tuple(file.tree.location(call) for call in part.reads),
            tuple(dict.fromkeys(f"{stop.message}: {stop.reason}" for stop in stops)),
            identity="name",
        )
