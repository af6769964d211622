"""What becomes of a file that is written for DeepRec: its edits if nothing stops it, and what is said of each part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.report.model import Applicability, Finding, State, TableRecord
from migrate.source.edits import Edit
from migrate.source.frontends.tensorflow.choice import keep, quiet
from migrate.source.frontends.tensorflow.deeprec.asked import check_options, doubt_options
from migrate.source.frontends.tensorflow.deeprec.columns import read_columns
from migrate.source.frontends.tensorflow.deeprec.draft import Draft, Part
from migrate.source.frontends.tensorflow.deeprec.options import read_options
from migrate.source.frontends.tensorflow.deeprec.program import read_program, remarks
from migrate.source.frontends.tensorflow.deeprec.symbols import (
    PROGRAM,
    VARIABLE,
    makes_tables,
    option_of,
    reads_deeprec,
)
from migrate.source.frontends.tensorflow.deeprec.variables import read_variables
from migrate.source.frontends.tensorflow.facts import Stop, refused_state
from migrate.source.frontends.tensorflow.kinds import File

AS_IS = "`python -m runtime.compat.deeprec` runs the program as it is"


@dataclass
class DeepRecPart:
    """What becomes of the EmbeddingVariables of one file."""

    edits: list[Edit] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    records: list[TableRecord] = field(default_factory=list)

    def among(self, others: Sequence[Finding]) -> list[Finding]:
        """Return its findings with those of other rules, which do not know what these lookups read."""
        known = {found.location for found in self.findings if found.subject == "lookup"}
        unknown = {State.NOTED, State.OPAQUE}
        lost = [f for f in others if f.subject == "lookup" and f.state in unknown and f.location in known]
        return [*(f for f in others if all(f is not one for one in lost)), *self.findings]


def embedding_variables(file: File, assume: bool) -> DeepRecPart:
    """Return what becomes of a file with EmbeddingVariables; nothing for any other."""
    if not any(makes_tables(name) or option_of(name) for _, name in file.names.calls):
        return DeepRecPart()
    if file.target.name != "runtime":
        return DeepRecPart(findings=[*_elsewhere(file)])
    draft = Draft(file)
    if not reads_deeprec(file):
        doubt_options(draft)
    read_options(draft)
    read_variables(draft)
    read_columns(draft)
    read_program(draft)
    check_options(draft)
    uses = [(part.call, part.rule) for part in draft.parts]
    keep(file, "the EmbeddingVariables", uses, draft.stops)
    quiet(file, [draft.stops])
    assumed = [stop for stop in draft.stops if stop.assumption and assume]
    stops = [stop for stop in draft.stops if not (stop.assumption and assume)]
    if not stops:
        draft.imports()
    findings = [*_findings(file, draft, stops, assumed), *_remarks(file)]
    return DeepRecPart([] if stops else draft.edits, findings, [*_records(file, draft, stops, assumed)])


def _elsewhere(file: File) -> Iterator[Finding]:
    """Say of each maker, for another target, why it stays."""
    own = file.target.name == "deeprec"
    for call, name in file.names.calls:
        if not makes_tables(name):
            continue
        short = name.rpartition(".")[2]
        if own:
            message, reason, action = f"`{short}` is DeepRec's own", "the target has it", ""
        else:
            message, reason = f"`{short}` is DeepRec's", f"it is read for the runtime, and not for {file.target.title}"
            action = "leave --target out"
        state = State.NOTED if own else State.UNSUPPORTED
        yield Finding(VARIABLE, "table", state, file.tree.location(call), message, reason, action)


def _applicability(assumed: list[Stop]) -> Applicability:
    return Applicability.ASSUMPTION if assumed else Applicability.EXACT


def _findings(file: File, draft: Draft, stops: list[Stop], assumed: list[Stop]) -> Iterator[Finding]:
    state = refused_state(stops) if stops else State.APPLIED
    for part in draft.parts:
        yield _finding(file, part, state, stops, assumed)
    for stop in stops:
        before = "" if isinstance(stop.node, cst.Module) else file.tree.source(stop.node)
        told = (stop.assumption,) if stop.assumption else ()
        kept = State.SUGGESTED if stop.assumption else stop.state
        place, action = file.tree.location(stop.node), stop.action or AS_IS
        yield Finding(stop.rule, "use", kept, place, stop.message, stop.reason, action, None, told, before)


def _finding(file: File, part: Part, state: State, stops: list[Stop], assumed: list[Stop]) -> Finding:
    place, before = file.tree.location(part.call), file.tree.source(part.call)
    if not stops:
        told = tuple(dict.fromkeys(stop.assumption for stop in assumed))
        return Finding(
            part.rule,
            part.subject,
            state,
            place,
            part.message,
            part.reason,
            applicability=_applicability(assumed),
            assumptions=told,
            before=before,
            after=part.after,
            table=part.label if part.subject in {"table", "lookup"} else "",
        )
    first = file.tree.location(stops[0].node)
    reason = f"line {first.line} keeps it" if first.line else stops[0].message
    message = f"`{' '.join(before.split())[:60]}` stays: a file for DeepRec is converted whole or not at all"
    table = part.label if part.subject in {"table", "lookup"} else ""
    action = "" if state is State.NOTED else AS_IS
    return Finding(part.rule, part.subject, state, place, message, reason, action, before=before, table=table)


def _remarks(file: File) -> Iterator[Finding]:
    for node, message, reason, action in remarks(file):
        yield Finding(PROGRAM, "use", State.UNSUPPORTED, file.tree.location(node), message, reason, action)


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
