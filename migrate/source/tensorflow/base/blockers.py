"""Blockers from the rows of rules: the only place that makes one."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import State
from migrate.source.rules import refusal
from migrate.source.tensorflow.base.model import Blocker, CodeChange


def blocker(
    node: cst.CSTNode,
    rule: str,
    key: str,
    *,
    under: str = "",
    changes: tuple[CodeChange, ...] = (),
    takes_rows: bool = False,
    otherwise: Blocker | None = None,
    state: State = State.UNSUPPORTED,
    **words: object,
) -> Blocker:
    """Return what keeps a table at `node`, in the words of the rule's row `key` (`Rule.refusals`).

    It is reported `under` another rule where one judges what the other reads: who ignores that one hears nothing of it.
    Raises LookupError for a row that the rule does not have, KeyError for a word that the row needs.
    """
    row = refusal(rule, key).filled(words)
    return Blocker(
        node,
        under or rule,
        row.message,
        row.reason,
        row.action,
        row.assumption,
        state,
        changes,
        row.applicability,
        takes_rows,
        otherwise,
        key,
    )


def not_selected(node: cst.CSTNode, rule: str, label: str) -> Blocker:
    """Return what keeps a table that a rule would convert which the user did not select: it is a note of that rule."""
    return Blocker(node, rule, f"`{label}` is left unchanged", f"the rule `{rule}` is not selected", state=State.NOTED)
