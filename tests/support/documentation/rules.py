"""A page for each rule, and what findings and errors say, by their words."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator

from migrate.source.rules import pages as rule_pages
from migrate.source.rules.base import Rule, refusals_of
from migrate.source.rules.catalogue import catalogue
from tests.support.paths import ROOT

KINDS = {
    "exact": "Rules that convert code to the same values",
    "assumption": "Rules that convert code under a stated assumption",
    "changes values": "Rules that change values, and say so",
    "at run time": "Rules that move variables when the program runs",
    "reports": "Rules that only report",
}


def index() -> str:
    """Return the list of all rules, by what they do."""
    parts = [
        "# Rules\n\nThe ids are those of reports, `--select`, `--ignore` and ignore comments."
        " `migrate rules explain ID` prints a page in the terminal.\n"
        "[Rules, comments, configuration](convert/select.md) tells how rules are selected,"
        " [Custom rules](own-rules.md) how one is written.\n"
    ]
    known = catalogue()
    for kind, title in KINDS.items():
        found = [rule for rule in known if rule_pages.KINDS[rule.applicability] == kind]
        parts.append(
            f"\n## {title}\n\n" + "".join(f"- [`{one.id}`](rules/{one.id}.md): {one.title}\n" for one in found)
        )
    return "".join(parts)


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each rule's page."""
    for rule in catalogue():
        yield f"{rule.id}.md", f"# {rule.id}\n{rule_pages.markdown_of(rule)}"


def troubleshooting() -> str:
    """Return what findings and errors say, in the order of the alphabet, each with what to do."""
    parts = [_HEAD]
    for letter, entries in _by_letter(_findings()):
        parts.append(f"\n### {letter}\n\n" + "".join(f"- {entry}\n" for entry in entries))
    parts.append(_ERRORS)
    for letter, entries in _by_letter(errors()):
        parts.append(f"\n### {letter}\n{{ #errors-{letter.lower()} }}\n\n" + "".join(f"- {one}\n" for one in entries))
    return "".join(parts)


_HEAD = """# Troubleshooting by message

Search this page for words of the message. `…` stands for a name, a line or code of yours.

A message of `migrate convert` or `check` is a [finding](reference/findings.md): look under *findings*.
A message after which the command ended with exit code 2 is an *error*.
`migrate explain FILE:LINE` tells what was seen at a line.

## Findings
"""
_ERRORS = """
## Errors

One sentence: the thing, what is wrong with it, and what to do.
"""


def _findings() -> list[str]:
    rules: dict[str, dict[str, Rule]] = defaultdict(dict)
    for rule in catalogue():
        for row in refusals_of(rule):
            rules[rule_pages.refused(row)][rule.id] = rule
    return [f"{text} ({', '.join(f'[{name}](rules/{name}.md)' for name in found)})" for text, found in rules.items()]


@functools.cache
def errors() -> list[str]:
    """Return the sentences of all errors that `migrate` raises with words of its own."""
    found = set()
    for path in sorted((ROOT / "migrate").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "MigrateError":
                found.add(_words(node.args[0]) if node.args else "…")
    return [
        f"{text[0].upper()}{text[1:].rstrip('.')}." for text in sorted(found) if len(text.split("…")[0].split()) >= 2
    ]


def _words(node: ast.expr) -> str:
    """Return a text as it stands in the source, `…` for what is put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.replace("<", "&lt;").replace("\n", " ")
    if isinstance(node, ast.JoinedStr):
        return re.sub("…+", "…", "".join(map(_words, node.values)))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _words(node.left) + _words(node.right)
    return "…"


def _by_letter(entries: list[str]) -> list[tuple[str, list[str]]]:
    """Return entries by their first letter, those that begin with code or `…` first, under *code*."""
    found: dict[str, list[str]] = defaultdict(list)
    for entry in sorted(entries, key=str.lower):
        first = entry[0].upper()
        found[first if first.isalpha() else "Code"].append(entry)
    return sorted(found.items(), key=lambda pair: (pair[0] != "Code", pair[0]))
