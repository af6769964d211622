"""What the user keeps as it is: tables at ignore comments, tables and doubts of rules not selected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import libcst as cst

from migrate.report.model import State
from migrate.source.settings.suppressions import RULE
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File


def keep_tables(file: File, tables: Iterable[Table]) -> None:
    """Stop each table at which an ignore comment stands, or whose creation or lookups are of rules not selected.

    A table moves with all of its lookups or not at all, so that one of them keeps the others.
    """
    for table in tables:
        uses: list[tuple[cst.CSTNode, str]] = [(table.creation.call, table.creation.rule)]
        uses += [(lookup.call, lookup.rule) for lookup in table.lookups]
        uses += [(followed.node, followed.rule) for followed in table.adaptations]
        keep(file, table.label, uses, table.blockers)


def keep(file: File, label: str, uses: Sequence[tuple[cst.CSTNode, str]], blockers: list[Blocker]) -> None:
    """Add a note to `stops` when the user keeps one of these nodes, each given with its rule."""
    kept = [blocker for node, rule in uses if (blocker := _at_comment(file, label, node, rule)) is not None]
    if kept:
        # What else would keep the table is of no use to someone who keeps it.
        blockers[:] = kept[:1]
        return
    for node, rule in uses:
        if not file.part(node).selection.wants(rule):
            reason = f"the rule `{rule}` is not selected"
            blockers.append(Blocker(node, rule, f"`{label}` stays as it is", reason, state=State.NOTED))


def _at_comment(file: File, label: str, node: cst.CSTNode, rule: str) -> Blocker | None:
    place = file.tree.location(node)
    comments = file.part(node).comments
    comment = comments.whole_file or comments.on(rule, place.line, place.end_line)
    if comment is None:
        return None
    message = f"`{label}` and its lookups stay as they are, as a comment asks"
    return Blocker(node, RULE, message, comment.reason or "the comment gives no reason", state=State.NOTED)


def quiet(file: File, groups: Iterable[list[Blocker]]) -> None:
    """Make notes of the doubts that are not reported: their rule is not selected, or a comment on their line names it.

    They hold all the same: the tables concerned stay as they are.
    """
    for blockers in groups:
        kept = [blocker for blocker in blockers if blocker.rule == RULE]
        blockers[:] = kept[:1] or [_quieted(file, blocker) for blocker in blockers]


def _quieted(file: File, blocker: Blocker) -> Blocker:
    if blocker.state is State.NOTED:
        return blocker
    part = file.part(blocker.node)
    if not part.selection.wants(blocker.rule):
        return replace(blocker, state=State.NOTED, assumption="")
    if isinstance(blocker.node, cst.Module):
        return blocker
    place = file.tree.location(blocker.node)
    comment = part.comments.at_ends(blocker.rule, place)
    if comment is None:
        return blocker
    return replace(blocker, state=State.NOTED, reason=comment.with_reason(blocker.reason), action="", assumption="")
