"""Findings and table records of a file for another SDK, which is converted completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import libcst as cst

from migrate.report.model import Applicability, Finding, FlowStep, State, TableRecord
from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import without
from migrate.source.tensorflow.base.model import Blocker, refused_state
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.user_choice import keep, quiet
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.facts.references.ways import Ways


@dataclass
class WholeFile:
    """The conversion of a file for another SDK; empty for any other file."""

    edits: list[Edit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    records: list[TableRecord] = field(default_factory=list)

    def among(self, others: Sequence[Finding]) -> list[Finding]:
        """Return its findings with those of other rules, but without their findings that these lookups are unknown."""
        known = {found.location for found in self.findings if found.subject == "lookup"}
        unknown = {State.NOTED, State.OPAQUE}
        lost = [f for f in others if f.subject == "lookup" and f.state in unknown and f.location in known]
        return [*(f for f in others if all(f is not one for one in lost)), *self.findings]

    def joined(self, other: WholeFile) -> WholeFile:
        """Return this joined with the result for another SDK; at most one of them has edits."""
        return WholeFile(self.edits + other.edits, self.findings + other.findings, self.records + other.records)


@dataclass(frozen=True)
class Wording:
    """Words of messages: the SDK of a file, its tables, and how to run the file unchanged."""

    sdk: str
    tables: str
    as_is: str


def judged(draft: Draft, assume: bool, wording: Wording) -> WholeFile:
    """Return the conversion of a file whose draft is complete."""
    file = draft.file
    uses = [(part.call, part.rule) for part in draft.parts]
    keep(file, wording.tables, uses, draft.blockers)
    quiet(file, [draft.blockers])
    assumed = [blocker for blocker in draft.blockers if blocker.assumption and assume]
    blockers = [blocker for blocker in draft.blockers if not (blocker.assumption and assume)]
    if not blockers:
        draft.imports()
    findings = [*_findings(file, draft, blockers, assumed, wording)]
    return WholeFile([] if blockers else draft.edits, findings, [*_records(file, draft, blockers, assumed)])


def _applicability(assumed: list[Blocker]) -> Applicability:
    return Applicability.ASSUMPTION if assumed else Applicability.EXACT


def _findings(
    file: File, draft: Draft, blockers: list[Blocker], assumed: list[Blocker], wording: Wording
) -> Iterator[Finding]:
    state, ways = refused_state(blockers) if blockers else State.APPLIED, _Ways(draft)
    for part in draft.parts:
        gone = without(draft.dropped.get(id(part.call), ()))
        said = replace(part, reason="; ".join(filter(None, [part.reason, gone])))
        found = _kept(file, part, state, blockers, wording) if blockers else _applied(file, said, assumed)
        yield replace(found, steps=ways.to(part.call) if part.subject == "lookup" else ())
    for blocker in blockers:
        before = "" if isinstance(blocker.node, cst.Module) else file.tree.source(blocker.node)
        told = (blocker.assumption,) if blocker.assumption else ()
        kept = State.SUGGESTED if blocker.assumption else blocker.state
        place, action = file.tree.location(blocker.node), blocker.action or wording.as_is
        found = Finding(blocker.rule, "use", kept, place, blocker.message, blocker.reason, action, None, told, before)
        yield replace(found, steps=ways.to(blocker.node))


class _Ways:
    """Tells how the tables of a draft get to where they are used."""

    def __init__(self, draft: Draft) -> None:
        self._ways = Ways(draft.file)
        self._made = [(p.call, p.label) for p in draft.parts if p.subject == "table" and isinstance(p.call, cst.Call)]

    def to(self, node: cst.CSTNode) -> tuple[FlowStep, ...]:
        """Return the steps of the first table that gets there."""
        found = (self._ways.steps(call, label, node) for call, label in self._made)
        return next(filter(None, found), ())


def _table(part: Part) -> str:
    return part.label if part.subject in {"table", "lookup"} else ""


def _applied(file: File, part: Part, assumed: list[Blocker]) -> Finding:
    return Finding(
        part.rule,
        part.subject,
        State.APPLIED,
        file.tree.location(part.call),
        part.message,
        part.reason,
        applicability=_applicability(assumed),
        assumptions=tuple(dict.fromkeys(blocker.assumption for blocker in assumed)),
        before=file.tree.source(part.call),
        after=part.after,
        table=_table(part),
    )


def _kept(file: File, part: Part, state: State, blockers: list[Blocker], wording: Wording) -> Finding:
    place, before = file.tree.location(part.call), file.tree.source(part.call)
    first = file.tree.location(blockers[0].node)
    reason = f"line {first.line} blocks the file" if first.line else blockers[0].message
    shown = " ".join(before.split())[:60]
    message = f"`{shown}` is left unchanged: what a file has of {wording.sdk} converts completely or not at all"
    action = "" if state is State.NOTED else wording.as_is
    return Finding(part.rule, part.subject, state, place, message, reason, action, before=before, table=_table(part))


def _records(file: File, draft: Draft, blockers: list[Blocker], assumed: list[Blocker]) -> Iterator[TableRecord]:
    for part in draft.parts:
        if part.subject != "table":
            continue
        yield TableRecord(
            part.label,
            file.tree.location(part.call),
            refused_state(blockers) if blockers else State.APPLIED,
            None if blockers else _applicability(assumed),
            part.dim,
            "",
            part.initializer,
            "",
            tuple(file.tree.location(call) for call in part.reads),
            tuple(dict.fromkeys(f"{blocker.message}: {blocker.reason}" for blocker in blockers)),
            identity="name",
        )
