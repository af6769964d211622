"""Rules for files as a whole, and for comments in them."""

from __future__ import annotations

from migrate.source.rules import Refusal, Rule, register


@register
class SourceFile(Rule):
    """A file that cannot be read, decoded or parsed, or on which the converter failed, is left unchanged.

    Such a finding is reported for any selection of rules.
    """

    id = "source-file"
    title = "A file that cannot be read or converted is left unchanged and reported"
    applicability = None


@register
class IgnoreComment(Rule):
    """`# migrate: ignore[RULE, ...] reason` leaves the code of its line unchanged.

    On a line that creates or looks up a table, it leaves the table and all of its lookups unchanged; on any other line,
    findings become notes. Without ids of rules the comment applies to every rule; alone on a line it applies to the
    next line of code. `# migrate: ignore-file reason`, alone on a line, leaves the whole file unchanged. A comment that
    has no effect is reported.
    """

    id = "ignore-comment"
    title = "Ignore comments leave code unchanged, and one without effect is reported"
    applicability = None
    refusals = (Refusal("kept-by-comment", "`{label}` and its lookups stay as they are, as a comment asks", "{why}"),)
