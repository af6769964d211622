"""Findings about the SDK that a module with its own layers calls: its switches, and where it computes other values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from migrate.report.model import Applicability, Finding, Location, State
from migrate.source.files.conversion_result import SourceResult
from migrate.targets.base import Target
from migrate.targets.switches import Switches


def added(result: SourceResult, target: Target, switches: Switches) -> SourceResult:
    """Return a result with what its target does to the tables; as it is where the model has none."""
    if not result.tables:
        return result
    found = list(_found(result, target, switches))
    changes = any(one.applicability is Applicability.CHANGES_VALUES for one in found)
    tables = result.tables
    if changes:
        tables = tuple(replace(one, applicability=Applicability.CHANGES_VALUES) for one in tables)
    return replace(result, findings=(*result.findings, *found), tables=tables)


def _found(result: SourceResult, target: Target, switches: Switches) -> Iterator[Finding]:
    where = result.tables[0].location
    for effect in target.effects(switches):
        yield _finding(where, effect.text, effect.changes_values, effect.by_hand)
    others = [law for law in result.tables[0].initializer.split("), ") if not law.startswith("Constant(")]
    if target.name == "sok" and others:
        told = f"{target.title} draws rows from N(0, 1) or U(0, 1) alone, not from {', '.join(others)}"
        yield _finding(where, told, True, "set the rows of known ids with `sok.assign` before training")
    if target.name == "deeprec" and others:
        told = (
            f"{target.title} gives new ids the rows of a matrix in turn, so that a run draws other rows than the model"
        )
        yield _finding(where, told, True, "")
    if target.unseen:
        yield _finding(where, target.unseen, False, "")
    for hook in target.hooks(switches):
        arguments = hook.arguments or ("modify_graph=True" if hook.modifies else "")
        hand = f"give the session `{hook.function}({arguments})`"
        yield _finding(where, f"lookups need the hook `{hook.function}` of {target.title}", False, hand)


def _finding(where: Location, message: str, changes: bool, by_hand: str) -> Finding:
    return Finding(
        rule="paddle-sdk",
        subject="table",
        state=State.SUGGESTED if by_hand else State.NOTED,
        location=where,
        message=message,
        action=by_hand,
        applicability=Applicability.CHANGES_VALUES if changes else None,
        table="embedding",
    )
