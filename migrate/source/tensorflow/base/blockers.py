"""Creates blockers from the `Refusal` rows of rules. All blockers are created here."""

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
    state: State = State.UNSUPPORTED,
    **words: object,
) -> Blocker:
    """Return a blocker at `node` with the texts of the rule's row `key` (see `Rule.refusals`).

    `under` names another rule to report it under, for rules that judge code which another rule reads: an ignore comment
    for that rule then applies. `words` fill the placeholders of the row. Raises LookupError if the rule has no such
    row, KeyError if a placeholder has no word.
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
        key,
    )


def not_selected(node: cst.CSTNode, rule: str, label: str) -> Blocker:
    """Return the blocker of a table that the user's selection of rules excludes; it is reported as a note."""
    return Blocker(node, rule, f"`{label}` is left unchanged", f"the rule `{rule}` is not selected", state=State.NOTED)
