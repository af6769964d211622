"""What the user keeps as it is: tables at ignore comments, tables and doubts of rules not selected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import libcst as cst

from migrate.report.model import State
from migrate.source.settings.suppressions import RULE
from migrate.source.tensorflow.base.blockers import blocker, not_selected
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
    kept = [found for node, rule in uses if (found := _at_comment(file, label, node, rule)) is not None]
    if kept:
        # What else would keep the table is of no use to someone who keeps it.
        blockers[:] = kept[:1]
        return
    for node, rule in uses:
        if not file.part(node).selection.wants(rule):
            blockers.append(not_selected(node, rule, label))


def _at_comment(file: File, label: str, node: cst.CSTNode, rule: str) -> Blocker | None:
    place = file.tree.location(node)
    comments = file.part(node).comments
    comment = comments.whole_file or comments.on(rule, place.line, place.end_line)
    if comment is None:
        return None
    why = comment.reason or "the comment gives no reason"
    return blocker(node, RULE, "kept-by-comment", state=State.NOTED, label=label, why=why)


def quiet(file: File, groups: Iterable[list[Blocker]]) -> None:
    """Make notes of the doubts that are not reported: their rule is not selected, or a comment on their line names it.

    They hold all the same: the tables concerned stay as they are.
    """
    for blockers in groups:
        kept = [each for each in blockers if each.rule == RULE]
        blockers[:] = kept[:1] or [_quieted(file, each) for each in blockers]


def _quieted(file: File, each: Blocker) -> Blocker:
    if each.state is State.NOTED:
        return each
    part = file.part(each.node)
    if not part.selection.wants(each.rule):
        return replace(each, state=State.NOTED, assumption="")
    if isinstance(each.node, cst.Module):
        return each
    place = file.tree.location(each.node)
    comment = part.comments.at_ends(each.rule, place)
    if comment is None:
        return each
    return replace(each, state=State.NOTED, reason=comment.with_reason(each.reason), action="", assumption="")
