"""What the user keeps as it is: tables at ignore comments, tables and doubts of rules not selected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import libcst as cst

from migrate.report.model import State
from migrate.source.settings.suppressions import RULE
from migrate.source.tensorflow.base.model import Stop, Table
from migrate.source.tensorflow.base.rule_kinds import File


def keep_tables(file: File, tables: Iterable[Table]) -> None:
    """Stop each table at which an ignore comment stands, or whose creation or lookups are of rules not selected.

    A table moves with all of its lookups or not at all, so that one of them keeps the others.
    """
    for table in tables:
        uses: list[tuple[cst.CSTNode, str]] = [(table.creation.call, table.creation.rule)]
        uses += [(lookup.call, lookup.rule) for lookup in table.lookups]
        uses += [(followed.node, followed.rule) for followed in table.followed]
        keep(file, table.label, uses, table.stops)


def keep(file: File, label: str, uses: Sequence[tuple[cst.CSTNode, str]], stops: list[Stop]) -> None:
    """Add a note to `stops` when the user keeps one of these nodes, each given with its rule."""
    kept = [stop for node, rule in uses if (stop := _at_comment(file, label, node, rule)) is not None]
    if kept:
        # What else would keep the table is of no use to someone who keeps it.
        stops[:] = kept[:1]
        return
    for node, rule in uses:
        if not file.part(node).selection.wants(rule):
            reason = f"the rule `{rule}` is not selected"
            stops.append(Stop(node, rule, f"`{label}` stays as it is", reason, state=State.NOTED))


def _at_comment(file: File, label: str, node: cst.CSTNode, rule: str) -> Stop | None:
    place = file.tree.location(node)
    comments = file.part(node).comments
    comment = comments.whole_file or comments.on(rule, place.line, place.end_line)
    if comment is None:
        return None
    message = f"`{label}` and its lookups stay as they are, as a comment asks"
    return Stop(node, RULE, message, comment.reason or "the comment gives no reason", state=State.NOTED)


def quiet(file: File, groups: Iterable[list[Stop]]) -> None:
    """Make notes of the doubts that are not reported: their rule is not selected, or a comment on their line names it.

    They hold all the same: the tables concerned stay as they are.
    """
    for stops in groups:
        kept = [stop for stop in stops if stop.rule == RULE]
        stops[:] = kept[:1] or [_quieted(file, stop) for stop in stops]


def _quieted(file: File, stop: Stop) -> Stop:
    if stop.state is State.NOTED:
        return stop
    part = file.part(stop.node)
    if not part.selection.wants(stop.rule):
        return replace(stop, state=State.NOTED, assumption="")
    if isinstance(stop.node, cst.Module):
        return stop
    place = file.tree.location(stop.node)
    comment = part.comments.at_ends(stop.rule, place)
    if comment is None:
        return stop
    return replace(stop, state=State.NOTED, reason=comment.with_reason(stop.reason), action="", assumption="")
