"""`migrate rules`: list the conversion rules, explain one, and run their examples."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from migrate.cli.choices import ALLOW_RULES
from migrate.cli.commands import PATH, RULE, group
from migrate.cli.console import echo, say, with_progress

if TYPE_CHECKING:
    from migrate.source.rules import Rule
    from migrate.source.settings.options import RuleFile

RULES = click.option(
    "--rules", "files", metavar="FILE", type=PATH, multiple=True, help="A Python file with custom rules."
)


@group()
def rules() -> None:
    """List, explain and test the conversion rules."""


@rules.command("list")
@RULES
@ALLOW_RULES
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the pages of all rules in Markdown.")
def list_rules(files: tuple[str, ...], allow_rules: bool | None, as_markdown: bool) -> None:
    """Print the id, the kind and the title of each rule.

    Rules of the kinds `exact` and `assumption` convert code; `reports` rules only report, e.g. why a table does not
    convert.
    """
    from migrate.source.rules import pages

    known = _known(_files(files, allow_rules) if not as_markdown or files else [])
    if as_markdown:
        echo(pages.markdown(known), nl=False)
    for line in () if as_markdown else pages.listing(known):
        echo(line)


@rules.command()
@click.argument("identifier", metavar="ID", type=RULE)
@RULES
@ALLOW_RULES
def explain(identifier: str, files: tuple[str, ...], allow_rules: bool | None) -> None:
    """Print what the rule ID does, with examples of code that it converts and that it leaves unchanged."""
    from migrate.source.rules import pages
    from migrate.source.settings.rule_selection import check_known, names

    known = {rule.id: rule for rule in _known(_files(files, allow_rules))}
    check_known([identifier], known, identifier)
    for number, name in enumerate(names(identifier, known)):
        echo(("\n\n" if number else "") + "\n".join(pages.page(known[name])))


@rules.command()
@click.argument("path", metavar="[FILE]", required=False, type=PATH)
@ALLOW_RULES
def test(path: str | None, allow_rules: bool | None) -> None:
    """Run the examples of all rules, or of the rules in FILE; exit code 1 when one has another result."""
    from migrate.source.configuration.user_rules import rules_of
    from migrate.source.driver.rule_examples import run_examples

    files = _files((path,) if path else (), allow_rules)
    tested = rules_of(files) if path else _known(files)
    failed = count = 0
    for outcome in with_progress(run_examples(tested, files), sum(len(rule.examples) for rule in tested), "testing"):
        count += 1
        if outcome.problem:
            failed += 1
            echo(f"{outcome.rule.id}: {outcome.example.title}: {outcome.problem.rstrip()}")
    say(f"{count - failed} of {count} examples of {len(tested)} rules passed")
    sys.exit(1 if failed else 0)


def _files(paths: tuple[str, ...], allowed: bool | None) -> list[RuleFile]:
    from migrate.cli.choices import rule_files

    return rule_files(paths, allowed)


def _known(files: list[RuleFile]) -> list[Rule]:
    from migrate.source.configuration.user_rules import rules_of
    from migrate.source.rules.catalogue import catalogue

    return sorted([*catalogue(), *rules_of(files)], key=lambda rule: rule.id)
