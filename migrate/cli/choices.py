"""The options that say what may be converted; each stands above the same key of a configuration file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from migrate.source.settings.options import Given, RuleFile

#: Features of the target; the names are those of configuration files.
SWITCHES = (
    click.option("--dynamic-expansion/--no-dynamic-expansion", default=None, help="Tables grow in device memory."),
    click.option("--cache-mode", metavar="MODE", help="Where rows lie: HBM, DDR or SSD."),
    click.option("--admission", metavar="N", type=int, help="An id gets a row when it was seen N times."),
    click.option("--eviction", metavar="AGE", help="Rows not used for so long go: seconds, or steps as 5000steps."),
    click.option("--modify-graph/--no-modify-graph", default=None, help="The input pipeline computes ids ahead."),
    click.option(
        "--multi-lookup/--no-multi-lookup",
        default=None,
        help="Write the call that makes one lookup of all those of a table.",
    ),
)
OPTIONS = (
    click.option("--assume/--no-assume", default=None, help="Also convert what holds only under a stated assumption."),
    click.option(
        "--target",
        metavar="SDK",
        help="The SDK that is called.  [default: runtime]",
    ),
    *SWITCHES,
    click.option("--select", metavar="RULE,…", multiple=True, help="Only these rules: ids, or the first words of ids."),
    click.option("--ignore", metavar="RULE,…", multiple=True, help="Not these rules. See migrate rules list."),
    click.option("--rules", metavar="FILE", multiple=True, help="A Python file with rules of your own (repeatable)."),
)


def choices(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them as `given`, checked."""

    @functools.wraps(command)
    def wrapped(**arguments: Any) -> None:
        names = ("target", "assume", "select", "ignore", "rules")
        values = {name: arguments.pop(name) for name in names}
        command(given=_given(**values, switches=_switches(arguments)), **arguments)

    for option in reversed(OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _given(
    target: str | None,
    assume: bool | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    rules: tuple[str, ...],
    switches: tuple[tuple[str, object], ...],
) -> Given:
    """Return what the command line says; raises MigrateError for a target or rule that does not exist."""
    from migrate.source.settings.options import Given
    from migrate.source.settings.rule_selection import check_known, parse
    from migrate.targets import check_target

    if target is not None:
        check_target(target, f"--target {target}")
    given = Given(target, assume, parse(select) or None, parse(ignore) or None, rules or None, switches)
    if given.select or given.ignore or given.rules:
        from migrate.source.configuration.user_rules import rule_ids
        from migrate.source.rules.catalogue import known_ids

        known = [*known_ids(), *(rule for file in rule_files(rules, target) for rule in rule_ids(file))]
        check_known(given.select or (), known, "--select")
        check_known(given.ignore or (), known, "--ignore")
    return given


def _switches(arguments: dict[str, Any]) -> tuple[tuple[str, object], ...]:
    """Take the switches out of the arguments of a command; raises MigrateError for a value that none has."""
    from migrate.targets.switches import KEYS, read_switches

    given = {key: arguments.pop(key.replace("-", "_")) for key in KEYS}
    found = {key: value for key, value in given.items() if value is not None}
    read_switches(found)
    return tuple(found.items())


def rule_files(given: Sequence[str], target: str | None = None) -> list[RuleFile]:
    """Return the files of own rules that hold here: those given, else those configured for this directory."""
    from pathlib import Path

    from migrate.source.configuration.config_files import for_file
    from migrate.source.settings.options import Given, Options

    here = for_file(Path("here.py"), Options(given=Given(target=target, rules=tuple(given) or None)))
    return list(here.rule_files)
