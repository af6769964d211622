"""The command line of the running command, which a report shows so that its result can be reproduced."""

from __future__ import annotations

import shlex

import click

from migrate.cli.commands import ASSUME

#: Options that do not affect the result: where reports go, and how the work is done.
SILENT = {"reports", "jobs", "no_cache", "cache_dir", "style", "baseline", "update_baseline"}


def command_line() -> str:
    """Return e.g. `migrate convert net.py --schema s.yaml`, without options that do not affect the result."""
    context = click.get_current_context()
    words = ["migrate", str(context.info_name)]
    options: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if isinstance(parameter, click.Argument):
            words += [str(item) for item in (value if isinstance(value, tuple) else (value,)) if _given(item)]
        elif parameter.name not in SILENT and value != parameter.default:
            options += _option(parameter, value)
    return shlex.join([*words, *options])


def _given(value: object) -> bool:
    return value is not None and value is not False and value != ()


def _option(parameter: click.Parameter, value: object) -> list[str]:
    """Return the words of an option, repeated once for each of its values."""
    if value is False and parameter.secondary_opts:
        return [max(parameter.secondary_opts, key=len)]
    name = max(parameter.opts, key=len)
    if isinstance(parameter, click.Option) and parameter.metavar == ASSUME and value is not None:
        return [f"--assume={','.join(value)}"] if isinstance(value, tuple) else ["--assume" if value else "--no-assume"]
    if isinstance(value, tuple):
        return [word for item in value for word in (name, str(item))]
    return ([name] if value is True else [name, str(value)]) if _given(value) else []
