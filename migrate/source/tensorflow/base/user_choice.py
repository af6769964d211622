"""Blockers and notes that result from ignore comments and from the user's selection of rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import libcst as cst

from migrate.report.model import State
from migrate.source.settings.suppressions import RULE
from migrate.source.tensorflow.base.model import Blocker, Table, blocker, not_selected
from migrate.source.tensorflow.base.rule_kinds import File


def keep_tables(file: File, tables: Iterable[Table]) -> None:
    """Block each table with an ignore comment, or with a creation or lookup of a rule that is not selected.

    A table is converted with all of its lookups or not at all, so that one of them blocks the others.
    """
    for table in tables:
        uses: list[tuple[cst.CSTNode, str]] = [(table.creation.call, table.creation.rule)]
        uses += [(lookup.call, lookup.rule) for lookup in table.lookups]
        uses += [(followed.node, followed.rule) for followed in table.adaptations]
        keep(file, table.label, uses, table.blockers)


def keep(file: File, label: str, uses: Sequence[tuple[cst.CSTNode, str]], blockers: list[Blocker]) -> None:
    """Add a note to `blockers` if the user excludes one of these nodes, each given with its rule."""
    kept = [note for node, rule in uses if (note := _at_comment(file, label, node, rule)) is not None]
    if kept:
        # Other blockers do not matter to a user who excludes the table.
        blockers[:] = kept[:1]
        return
    for node, rule in uses:
        if not file.part(node).selection.wants(rule):
            blockers.append(not_selected(node, rule, label))


def _at_comment(file: File, label: str, node: cst.CSTNode, rule: str) -> Blocker | None:
    """Return the note of a node that an ignore comment excludes, or None."""
    location = file.tree.location(node)
    comments = file.part(node).comments
    comment = comments.whole_file or comments.on(rule, location.line, location.end_line)
    if comment is None:
        return None
    why = comment.reason or "the comment gives no reason"
    return blocker(node, RULE, "kept-by-comment", state=State.NOTED, label=label, why=why)


def quiet(file: File, groups: Iterable[list[Blocker]]) -> None:
    """Turn blockers into notes if the user excludes their rule, by the selection or by a comment on their line.

    They remain effective: the tables concerned are not converted.
    """
    for blockers in groups:
        kept = [each for each in blockers if each.rule == RULE]
        blockers[:] = kept[:1] or [_quieted(file, each) for each in blockers]


def _quieted(file: File, each: Blocker) -> Blocker:
    """Return the blocker as a note if its rule is not selected or a comment ignores it, else unchanged."""
    if each.state is State.NOTED:
        return each
    part = file.part(each.node)
    if not part.selection.wants(each.rule):
        return replace(each, state=State.NOTED, assumption="")
    if isinstance(each.node, cst.Module):
        return each
    location = file.tree.location(each.node)
    comment = part.comments.at_ends(each.rule, location)
    if comment is None:
        return each
    return replace(each, state=State.NOTED, reason=comment.with_reason(each.reason), action="", assumption="")
