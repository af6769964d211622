"""Formats the page of a rule, and of all in Markdown, from the attributes of rule classes."""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from migrate.report.model import Applicability
from migrate.source.rules.base import Example, Refusal, Rule, refusals_of

WIDTH = 100
#: Columns of a line of prose in Markdown.
PROSE = 120
KINDS = {
    Applicability.EXACT: "exact",
    Applicability.ASSUMPTION: "assumption",
    Applicability.CHANGES_VALUES: "changes values",
    Applicability.IN_GRAPH: "at run time",
    None: "reports",
}
MEANINGS = {
    Applicability.EXACT: "converts code; computes the same values by construction",
    Applicability.ASSUMPTION: "converts code under a stated assumption (`--assume`)",
    Applicability.CHANGES_VALUES: "converts code; computes other values",
    Applicability.IN_GRAPH: "inserts one line; the program moves its tables when it runs",
    None: "changes no code; reports what it finds, or why a table is left unchanged",
}
#: Code, and a blank before what begins a list, a quotation or a heading; a blank in them is no place to break a line.
_UNBROKEN = re.compile(r"`[^`]*`|(?<=\S) (?=(?:[-+*#>=]+|\d+[.)])(?: |$))")
_BLANK = "\0"
REFUSED = "What it leaves unchanged, why, and what to do:"
HEAD = """# Rules

The rules of `migrate convert` and `migrate check`, by the ids that reports, `--select`, `--ignore` and comments use.
`migrate rules explain ID` prints one of these pages; `migrate rules test` runs their examples.

"""


def listing(rules: Sequence[Rule]) -> Iterator[str]:
    """Yield lines of at most 100 columns with the id, kind and title of each rule."""
    width = max((len(rule.id) for rule in rules), default=0)
    for rule in rules:
        head = f"{rule.id:{width}}  {KINDS[rule.applicability]:10}  "
        yield from textwrap.wrap(head + rule.title, WIDTH, subsequent_indent=" " * len(head), break_on_hyphens=False)


def page(rule: Rule) -> Iterator[str]:
    """Yield the lines of a rule's page as plain text."""
    yield f"{rule.id}: {rule.title}"
    yield f"since {rule.since}; {MEANINGS[rule.applicability]}"
    for paragraph in [*documentation(rule), *([f"Safety: {rule.fix_safety}"] if rule.fix_safety else [])]:
        yield ""
        yield from textwrap.wrap(paragraph, WIDTH, break_on_hyphens=False, break_long_words=False)
    for example in rule.examples:
        yield ""
        yield f"{_heading(example)}:"
        yield from (f"    {line}" for line in shown(example))
    rows = refusals_of(rule)
    if rows:
        yield ""
        yield REFUSED
    for row in rows:
        yield from textwrap.wrap(refused(row), WIDTH, initial_indent="  - ", subsequent_indent="    ")


def documentation(rule: Rule) -> list[str]:
    """Return the paragraphs of the rule's docstring."""
    text = inspect.cleandoc(type(rule).__doc__ or "")
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def shown(example: Example) -> list[str]:
    """Return an example as a diff without header, or the whole text if nothing changes."""
    before = example.before.splitlines()
    if not example.after:
        return [f"  {line}".rstrip() for line in before]
    lines = difflib.unified_diff(before, example.after.splitlines(), n=1000, lineterm="")
    return [f"{line[0]} {line[1:]}".rstrip() for line in list(lines)[3:]]


def _heading(example: Example) -> str:
    flags = [f"--{key}" + ("" if value is True else f" {value}") for key, value in example.switches]
    flags += [f"--target {example.target}"] if example.target != "runtime" else []
    flags += ["--assume"] if example.assume else []
    options = [*flags, *([f"--unbucket {','.join(example.unbucket)}"] if example.unbucket else [])]
    assumed = f" (with {' '.join(options)})" if options else ""
    if example.after:
        return f"Example{assumed}: {example.title}"
    said = f" (finding: {example.says})" if example.says else ""
    return f"Left unchanged{assumed}: {example.title}{said}"


def markdown(rules: Iterable[Rule]) -> str:
    """Return one page with a heading for each rule."""
    listed = list(rules)
    parts = [HEAD, "| Rule | | |\n|---|---|---|\n"]
    parts += [f"| [`{rule.id}`](#{rule.id}) | {KINDS[rule.applicability]} | {rule.title} |\n" for rule in listed]
    parts += [f"\n## {rule.id}\n{markdown_of(rule)}" for rule in listed]
    return "".join(parts)


def markdown_of(rule: Rule) -> str:
    """Return the text on a rule below its heading."""
    paragraphs = [f"**{rule.title}.** {_sentence(MEANINGS[rule.applicability])}", *documentation(rule)]
    paragraphs += [f"Safety: {rule.fix_safety}"] if rule.fix_safety else []
    parts = [f"\n{prose(paragraph)}\n" for paragraph in paragraphs]
    parts += [_example(example) for example in rule.examples]
    rows = refusals_of(rule)
    parts += [f"\n{REFUSED}\n\n", *(f"{prose(refused(row), '- ')}\n" for row in rows)] if rows else []
    return "".join(parts)


def prose(text: str, first: str = "") -> str:
    """Return Markdown in lines of at most `PROSE` columns, the first behind `first`, the others behind as many spaces.

    Code in backticks is broken only where it is long. No line begins with what Markdown reads as a list or heading.
    """
    text = _UNBROKEN.sub(lambda at: at.group().replace(" ", _BLANK) if len(at.group()) < WIDTH else at.group(), text)
    lines = textwrap.wrap(
        text,
        PROSE,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "\n".join(lines).replace(_BLANK, " ")


def refused(row: Refusal) -> str:
    """Return a row as a sentence or two; what the code shows is `...`."""
    words = _Shown()
    message, reason, action = (text.format_map(words) for text in (row.message, row.reason, row.action))
    doubt = " (lifted by `--assume`)" if row.assumption else ""
    text = f"{message}{': ' if reason else ''}{reason}{doubt}"
    return f"{text}. {_sentence(action)}" if action else f"{text}."


class _Shown(dict[str, str]):
    """What stands for names in texts that are not about one piece of code."""

    def __missing__(self, key: str) -> str:
        return "…"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _example(example: Example) -> str:
    if example.after:
        lines = [line[:1] + line[2:] for line in shown(example)]
        return f"\n{prose(f'{_heading(example)}:')}\n\n```diff\n" + "\n".join(lines) + "\n```\n"
    return f"\n{prose(f'{_heading(example)}:')}\n\n```text\n{example.before.rstrip()}\n```\n"
