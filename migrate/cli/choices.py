"""Options that select what is converted; each overrides the key of the same name in a configuration file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from migrate.cli.commands import ALL, ASSUME, NONE, PATH, RULE
from migrate.errors import MigrateError

if TYPE_CHECKING:
    from migrate.source.settings.options import Assume, Given, RuleFile

#: Features of the target; the names are those of configuration files.
SWITCHES = (
    click.option(
        "--dynamic-expansion/--no-dynamic-expansion",
        default=None,
        help="Let tables grow in device memory (for rec_sdk; others grow).",
    ),
    click.option(
        "--cache-mode", metavar="MODE", help="For rec_sdk, deeprec, sok: where rows are stored: HBM, DDR or SSD."
    ),
    click.option("--admission", metavar="N", type=int, help="Create the row of an id once the id was seen N times."),
    click.option("--eviction", metavar="AGE", help="Evict rows not used for AGE seconds, or steps (5000steps)."),
    click.option(
        "--modify-graph/--no-modify-graph",
        default=None,
        help="Compute ids ahead of the step, in the input pipeline (runtime).",
    ),
    click.option(
        "--multi-lookup/--no-multi-lookup",
        default=None,
        help="Merge all lookups of a table into one.",
    ),
)
ALLOW_RULES = click.option(
    "--allow-rules/--no-allow-rules", default=None, help="Run the rules (Python) that a project's configuration names."
)


def _assumed(ctx: click.Context, parameter: click.Parameter, value: str | None) -> Assume | None:
    if value in (None, ALL, NONE):
        return None if value is None else value == ALL
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise MigrateError(f"--assume={value}: names nothing; give tables or rules, or --assume alone")
    return names


OPTIONS = (
    click.option(
        "--assume",
        "--no-assume",
        "assume",
        metavar=ASSUME,
        callback=_assumed,
        help="Also convert tables that need an assumption, which the finding states: all, or those of the named "
        "tables and rules.",
    ),
    click.option(
        "--target",
        metavar="SDK",
        help="The SDK that converted code calls.  [default: runtime]",
    ),
    *SWITCHES,
    click.option(
        "--exclude",
        metavar="PATTERN,…",
        multiple=True,
        help="Leave out these files and directories below PATH, e.g. tests,*_old.py (repeatable).",
    ),
    click.option(
        "--entry",
        metavar="PATTERN,…",
        multiple=True,
        help="Judge only these programs and what they import, e.g. train.py,jobs/*.py (repeatable).",
    ),
    click.option(
        "--evidence",
        metavar="FILE,…",
        multiple=True,
        help="Records of `migrate trace`, whose graphs show which variables become tables (repeatable).",
    ),
    click.option(
        "--unbucket",
        metavar="TABLE,…|all",
        multiple=True,
        help="Give each id of these tables a row of its own, in place of that of its hash bucket, with which it begins "
        "(repeatable).",
    ),
    click.option(
        "--select", metavar="RULE,…", type=RULE, multiple=True, help="Apply only these rules (ids or prefixes)."
    ),
    click.option(
        "--ignore", metavar="RULE,…", type=RULE, multiple=True, help="Do not apply these rules; see migrate rules list."
    ),
    click.option(
        "--rules", metavar="FILE", type=PATH, multiple=True, help="A Python file with custom rules (repeatable)."
    ),
    ALLOW_RULES,
)


def choices(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which receives them validated, as one argument `given`."""

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        names = (
            "target", "assume", "exclude", "entry", "evidence", "unbucket", "select", "ignore", "rules", "allow_rules",
        )  # fmt: skip
        values = {name: arguments.pop(name) for name in names}
        command(overrides=_given(**values, switches=_switches(arguments)), **arguments)

    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _given(
    target: str | None,
    assume: Assume | None,
    exclude: tuple[str, ...],
    entry: tuple[str, ...],
    evidence: tuple[str, ...],
    unbucket: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    rules: tuple[str, ...],
    allow_rules: bool | None,
    switches: tuple[tuple[str, object], ...],
) -> Given:
    """Return the options of the command line; raises MigrateError for an unknown target or rule."""
    from migrate.source.settings.options import Given
    from migrate.source.settings.rule_selection import check_known, parse
    from migrate.targets import check_target

    if target is not None:
        check_target(target, f"--target {target}")
    chosen, ignored, left_out, entries = (parse(texts) or None for texts in (select, ignore, exclude, entry))
    if entry and not entries:
        raise MigrateError("--entry: names nothing; give a file or a pattern, such as train.py")
    own = rules or None
    overrides = Given(
        target, assume, chosen, ignored, own, allow_rules, switches, left_out, entries, parse(evidence), parse(unbucket)
    )
    if overrides.select or overrides.ignore or overrides.rules:
        from migrate.source.configuration.user_rules import rule_ids
        from migrate.source.rules.catalogue import known_ids

        known = [*known_ids(), *(rule for file in rule_files(rules, allow_rules, target) for rule in rule_ids(file))]
        check_known(overrides.select or (), known, "--select")
        check_known(overrides.ignore or (), known, "--ignore")
    return overrides


def _switches(arguments: dict[str, Any]) -> tuple[tuple[str, object], ...]:
    """Remove the switches from the command's arguments and return them; raises MigrateError for an invalid value."""
    from migrate.targets.switches import KEYS, read_switches

    values = {key: arguments.pop(key.replace("-", "_")) for key in KEYS}
    switches = {key: value for key, value in values.items() if value is not None}
    read_switches(switches)
    return tuple(switches.items())


def rule_files(paths: Sequence[str], allowed: bool | None, target: str | None = None) -> list[RuleFile]:
    """Return the files with custom rules: those given, else those configured for the working directory, if allowed."""
    from pathlib import Path

    from migrate.source.configuration.config_files import for_file
    from migrate.source.settings.options import Given, Options

    wanted = Given(target=target, rules=tuple(paths) or None, allow_rules=allowed)
    return list(for_file(Path("here.py"), Options(overrides=wanted)).rule_files)
