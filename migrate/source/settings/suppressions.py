"""`# migrate: ignore[RULE] reason`: what such comments name, where they hold, which of them did something."""

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
    """One comment; it is used when it keeps something as it is."""

    line: int
    lines: frozenset[int]  #: its own line; where it stands alone, the next line of code, too
    rules: tuple[str, ...]  #: ids or their first words; empty: every rule
    reason: str
    text: str
    used: bool = False

    def names(self, rule: str) -> bool:
        """True when the comment speaks of this rule."""
        return not self.rules or any(names(entry, [rule]) for entry in self.rules)

    def with_reason(self, reason: str) -> str:
        """Return the reason of what is ignored, behind the one that the comment gives."""
        return "; ".join(filter(None, (f"ignored by a comment: {self.reason}".rstrip(": "), reason)))


@dataclass
class Comments:
    """The ignore comments of one file."""

    lines: list[Comment] = field(default_factory=list)
    whole_file: Comment | None = None

    def adopt(self, other: Comments) -> None:
        """Mark as used what is used in another reading of the same text."""
        for mine, theirs in zip(self.lines, other.lines, strict=True):
            mine.used = mine.used or theirs.used

    def on(self, rule: str, first: int, last: int) -> Comment | None:
        """Return the comment that stands on one of these lines and names the rule, marked as used."""
        for comment in self.lines:
            if comment.names(rule) and any(first <= line <= last for line in comment.lines):
                comment.used = True
                return comment
        return None

    def at_ends(self, rule: str, place: Location) -> Comment | None:
        """Return the comment on the first or the last line of a place, marked as used."""
        ends = (place.line, place.end_line) if place.line > 0 else ()
        return next((found for end in ends if (found := self.on(rule, end, end)) is not None), None)


def read_comments(text: str) -> Comments:
    """Return the ignore comments of a Python file that parses."""
    found = Comments()
    if WORD not in text.lower():
        return found
    tokens = list(tokenize.generate_tokens(io.StringIO(text, newline="").readline))
    code = sorted({line for t in tokens if t.type not in BLANK for line in range(t.start[0], t.end[0] + 1)})
    for token in tokens:
        match = MARK.search(token.string) if token.type == tokenize.COMMENT else None
        if match is not None:
            _add(found, token, match, code)
    return found


def _add(found: Comments, token: tokenize.TokenInfo, match: re.Match[str], code: list[int]) -> None:
    line = token.start[0]
    alone = line not in code
    after = next((number for number in code if number > line), line) if alone else line
    rules = tuple(part.strip() for part in (match["rules"] or "").split(",") if part.strip())
    text = f"# migrate: ignore{match['file'] or ''}{'[' + ', '.join(rules) + ']' if rules else ''}"
    comment = Comment(line, frozenset({line, after}), rules, match["reason"].strip(" -:"), text)
    if match["file"] and alone:
        found.whole_file = comment
    else:
        found.lines.append(comment)


def keep_file(path: str, comments: Comments) -> Finding | None:
    """Return the finding of a file that a comment keeps as it is."""
    comment = comments.whole_file
    if comment is None:
        return None
    message = "this file stays as it is, as a comment in it asks"
    return Finding(RULE, "file", State.NOTED, Location(path, comment.line, comment.line), message, comment.reason)


def choose(
    path: str, findings: Iterable[Finding], selection: Selection, comments: Comments, known: Iterable[str]
) -> Iterator[Finding]:
    """Yield the findings that are wanted: at an ignore comment as notes, and one for a comment without effect."""
    made: set[int] = set()
    for finding in findings:
        here = finding.location.path == path
        comment = None
        if here and finding.state in DONE:
            made |= {finding.location.line, finding.location.end_line}
        elif here and finding.state is not State.FAILED:
            comment = comments.at_ends(finding.rule, finding.location)
        if comment is not None and finding.remains:
            reason = comment.with_reason(finding.reason)
            finding = replace(finding, state=State.NOTED, reason=reason, action="", assumptions=())
        if finding.state in DONE | {State.FAILED} or finding.rule == RULE or selection.wants(finding.rule):
            yield finding
    unused = [comment for comment in comments.lines if not comment.used and selection.wants(RULE)]
    yield from _without_effect(path, unused, selection, sorted(known), made)


def _without_effect(
    path: str, unused: list[Comment], selection: Selection, known: list[str], made: set[int]
) -> Iterator[Finding]:
    for comment in unused:
        unknown = [entry for entry in comment.rules if not names(entry, known)]
        wanted = [rule for entry in comment.rules for rule in names(entry, known) if selection.wants(rule)]
        if comment.rules and not wanted and not unknown:
            continue
        reason = "on its line, no table is made or read and nothing is reported"
        if unknown:
            reason = f"no rule is called `{unknown[0]}`; {nearest(unknown[0], known)}"
        elif comment.rules:
            reason = f"on its line, nothing concerns {' or '.join(f'`{rule}`' for rule in comment.rules)}"
        elif comment.lines & made:
            reason = "what is converted on its line follows its tables; keep these instead"
        elif comment.text.endswith("-file"):
            reason = "it must stand on a line of its own"
        where = Location(path, comment.line, comment.line)
        message = f"`{comment.text}` has no effect"
        yield Finding(RULE, "use", State.SUGGESTED, where, message, reason, "remove the comment, or correct it")
