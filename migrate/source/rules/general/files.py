"""What concerns files as a whole, and the comments in them."""

from __future__ import annotations

from migrate.source.rules import Refusal, Rule, register


@register
class SourceFile(Rule):
    """A file that cannot be read, decoded or parsed, or on which the converter failed, is left as it is and named.

    Such a finding is reported whatever is selected.
    """

    id = "source-file"
    title = "A file that cannot be read or converted is left as it is and named"
    applicability = None


@register
class IgnoreComment(Rule):
    """`# migrate: ignore[RULE, ...] reason` keeps what stands on its line.

    On a line where a table is made or looked up, the whole table stays as it is, with all of its lookups; on any other
    line, what is reported there becomes a note. Without rules the comment speaks of every rule; alone on a line it
    holds for the next line of code. `# migrate: ignore-file reason`, alone on a line, keeps the whole file. A comment
    that has no effect is reported.
    """

    id = "ignore-comment"
    title = "Ignore comments keep tables and findings, and one without effect is named"
    applicability = None
    refusals = (Refusal("kept-by-comment", "`{label}` and its lookups stay as they are, as a comment asks", "{why}"),)
