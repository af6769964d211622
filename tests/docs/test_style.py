"""What a machine can check of docs/style.md: lengths, the words of verdicts, words that say nothing; and options."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

import click
import pytest

from migrate.cli.main import COMMANDS, cli
from migrate.report import words
from migrate.source.rules import pages
from migrate.source.rules.catalogue import catalogue
from tests.support.documentation.claims import claims
from tests.support.paths import ROOT
from tests.support.source import idiom_table

#: Pages of the site that are made of the code, of words that stand in rules and at the head of examples.
GENERATED: dict[str, Callable[[], str]] = {
    "docs/rules.md": lambda: pages.markdown(catalogue()),
    "docs/idioms.md": idiom_table.page,
}
DOCS = [*(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))), *GENERATED]
LINE, CELL, WORDS = 120, 100, 35
#: Without notes on the work itself, and the page that names the words which others avoid.
PAGES = [page for page in DOCS if page != "docs/style.md" and not page.startswith("docs/decisions/")]
#: Pages on conversion: `--option` is one of `migrate`, and what is not converted is left unchanged, not refused.
OF_MIGRATE = [
    page for page in PAGES if re.search(r"/(convert/.*|tutorials/.*|command-line|idioms|rewriter|rules)\.md$", page)
]


@pytest.mark.each_case
@pytest.mark.parametrize("page", ["README.md", "benchmarks/README.md", "benchmarks/RESULTS.md", *DOCS])
def test_lines_and_table_cells_are_short(page: str) -> None:
    prose = _prose(page).splitlines()
    rows = [line for line in prose if line.startswith("|")]
    paths = re.compile(r"(## )?`[^` ]+`")  # one path or name, which has no place to break
    long = [line for line in prose if len(line) > LINE and line not in rows and not paths.fullmatch(line)]
    long += [cell for row in rows for cell in map(_shown, re.split(r"(?<!\\)\|", row)) if len(cell) > CELL]
    long = [text for text in long if not paths.fullmatch(text)]
    assert not long, f"{page}: {long}"


def _shown(cell: str) -> str:
    """Return what a reader sees of a cell: of a link, its text."""
    return re.sub(r"\]\([^)]*\)", "", cell).strip()


@pytest.mark.each_case
@pytest.mark.parametrize("page", ["README.md", *(page for page in PAGES if page not in GENERATED)])
def test_sentences_are_short(page: str) -> None:
    long = [one for one in _sentences(_prose(page)) if sum(map(str.isalnum, (w[:1] for w in one.split()))) > WORDS]
    assert not long, f"{page}: sentences of more than {WORDS} words, where a row of code counts as one: {long}"


def _sentences(prose: str) -> Iterator[str]:
    """Yield what stands between full stops in paragraphs and list items, between semicolons in items on names.

    Tables, headings, definitions and indented code have no sentences.
    """
    text = re.sub(r"^(\||#|:   |    ).*$", "", prose, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"`[^`]*`", "Code", text)
    text = re.sub(r"Code((,| and| or|, and|, or)\s+Code)+", "Code", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", text):
        ends = r"(?<=[.!?:;])\s+" if paragraph.strip().startswith("- Code: ") else r"(?<=[.!?:])\s+(?=[A-Z*\[(\"\d])"
        yield from re.split(ends, " ".join(paragraph.split()))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.each_case
def test_verdicts_are_the_words_of_reports(page: str) -> None:
    begin = tuple(words.STATES.values())
    wrong = [one for _, one in claims(_prose(page)) if not one.startswith(begin)]
    if page in OF_MIGRATE:
        wrong += re.findall(r".*\brefus\w*.*", re.sub(r"`[^`\n]*`", "", _prose(page)))
    assert not wrong, f"{page}: say {begin} of tables and findings, and `is an error` of commands: {wrong}"


def test_options_in_pages_exist() -> None:
    known = {option for name in COMMANDS for option in _options(name)} | {"--help", "--version"}
    named = [(page, one) for page in OF_MIGRATE for one in re.findall(r"`(--[a-z-]+)", _prose(page))]
    assert len(named) > 50
    assert not {(page, one) for page, one in named if one not in known}


@functools.cache
def _prose(page: str) -> str:
    text = GENERATED[page]() if page in GENERATED else (ROOT / page).read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def _options(name: str) -> Iterator[str]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    inner = [*command.commands.values()] if isinstance(command, click.Group) else []
    for one in (command, *inner):
        for param in one.params:
            yield from [*param.opts, *param.secondary_opts]
