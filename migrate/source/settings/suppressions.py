"""Ignore comments, `# migrate: ignore[RULE] reason`: their rules, their lines, and whether they had an effect."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from migrate.report.model import Finding, Location, State
from migrate.source.settings.rule_selection import Selection, names, nearest

RULE = "ignore-comment"
WORD = "migrate:"
MARK = re.compile(
    r"#\s*migrate:\s*ignore(?P<file>-file)?(?![\w-])\s*(?:\[(?P<rules>[^\]#]*)\])?\s*(?P<reason>[^#]*)", re.IGNORECASE
)
BLANK = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER}
DONE = {State.APPLIED, State.AVAILABLE}


@dataclass
class Comment:
    """One ignore comment; it is used if it suppresses something."""

    line: int
    lines: frozenset[int]  #: its line and, for a comment on a line of its own, the next line of code
    rules: tuple[str, ...]  #: ids or prefixes of ids; empty: every rule
    reason: str
    text: str
    used: bool = False

    def names(self, rule: str) -> bool:
        """True if the comment applies to this rule."""
        return not self.rules or any(names(entry, [rule]) for entry in self.rules)

    def with_reason(self, reason: str) -> str:
        """Return `reason`, preceded by the reason that the comment gives."""
        return "; ".join(filter(None, (f"ignored by a comment: {self.reason}".rstrip(": "), reason)))


@dataclass
class Comments:
    """The ignore comments of one file."""

    lines: list[Comment] = field(default_factory=list)
    whole_file: Comment | None = None

    def adopt(self, other: Comments) -> None:
        """Mark the comments as used that are used in `other`, read from the same text."""
        for mine, theirs in zip(self.lines, other.lines, strict=True):
            mine.used = mine.used or theirs.used

    def on(self, rule: str, first: int, last: int) -> Comment | None:
        """Return the comment on one of these lines that applies to the rule, and mark it as used."""
        for comment in self.lines:
            if comment.names(rule) and any(first <= line <= last for line in comment.lines):
                comment.used = True
                return comment
        return None

    def at_ends(self, rule: str, place: Location) -> Comment | None:
        """Return the comment on the first or the last line of `place`, and mark it as used."""
        ends = (place.line, place.end_line) if place.line > 0 else ()
        return next((comment for end in ends if (comment := self.on(rule, end, end)) is not None), None)


def read_comments(text: str) -> Comments:
    """Return the ignore comments of a valid Python file."""
    comments = Comments()
    if WORD not in text.lower():
        return comments
    tokens = list(tokenize.generate_tokens(io.StringIO(text, newline="").readline))
    code = sorted({line for t in tokens if t.type not in BLANK for line in range(t.start[0], t.end[0] + 1)})
    for token in tokens:
        match = MARK.search(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            _add(comments, token, match, code)
    return comments


def _add(comments: Comments, token: tokenize.TokenInfo, match: re.Match[str], code: list[int]) -> None:
    line = token.start[0]
    alone = line not in code
    after = next((number for number in code if number > line), line) if alone else line
    rules = tuple(part.strip() for part in (match["rules"] or "").split(",") if part.strip())
    text = f"# migrate: ignore{match['file'] or ''}{'[' + ', '.join(rules) + ']' if rules else ''}"
    comment = Comment(line, frozenset({line, after}), rules, match["reason"].strip(" -:"), text)
    if match["file"] and alone:
        comments.whole_file = comment
    else:
        comments.lines.append(comment)


def keep_file(path: str, comments: Comments) -> Finding | None:
    """Return the finding for a file with an `ignore-file` comment, or None."""
    comment = comments.whole_file
    if comment is None:
        return None
    message = "this file is left unchanged, as a comment in it requests"
    return Finding(RULE, "file", State.NOTED, Location(path, comment.line, comment.line), message, comment.reason)


def choose(
    path: str, findings: Iterable[Finding], selection: Selection, comments: Comments, known: Iterable[str]
) -> Iterator[Finding]:
    """Yield selected findings, as notes at ignore comments, and a finding for each comment without effect."""
    used: set[int] = set()
    for finding in findings:
        here = finding.location.path == path
        comment = None
        if here and finding.state in DONE:
            used |= {finding.location.line, finding.location.end_line}
        elif here and finding.state is not State.FAILED:
            comment = comments.at_ends(finding.rule, finding.location)
        if comment is not None and finding.remains:
            reason = comment.with_reason(finding.reason)
            finding = replace(finding, state=State.NOTED, reason=reason, action="", assumptions=())
        if finding.state in DONE | {State.FAILED} or finding.rule == RULE or selection.wants(finding.rule):
            yield finding
    unused = [comment for comment in comments.lines if not comment.used and selection.wants(RULE)]
    yield from _without_effect(path, unused, selection, sorted(known), used)


def _without_effect(
    path: str, unused: list[Comment], selection: Selection, known: list[str], used: set[int]
) -> Iterator[Finding]:
    for comment in unused:
        unknown = [entry for entry in comment.rules if not names(entry, known)]
        wanted = [rule for entry in comment.rules for rule in names(entry, known) if selection.wants(rule)]
        if comment.rules and not wanted and not unknown:
            continue
        reason = "no table is created or used on its line, and nothing is reported there"
        if unknown:
            reason = f"unknown rule `{unknown[0]}`; {nearest(unknown[0], known)}"
        elif comment.rules:
            reason = f"no finding on its line is of the rule {' or '.join(f'`{rule}`' for rule in comment.rules)}"
        elif comment.lines & used:
            reason = "this line is converted together with its tables; put the comment on the line that creates them"
        elif comment.text.endswith("-file"):
            reason = "it must be on a line of its own"
        where = Location(path, comment.line, comment.line)
        message = f"`{comment.text}` has no effect"
        yield Finding(RULE, "use", State.SUGGESTED, where, message, reason, "remove the comment, or correct it")
