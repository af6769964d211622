"""The command line of the command that runs, for a report's reproduction line."""

from __future__ import annotations

import shlex

import click

#: options that change no result: where reports go, and how fast it is done
SILENT = {"reports", "jobs", "no_cache", "cache_dir"}


def command_line() -> str:
    """Return e.g. `migrate convert net.py --schema s.yaml`; what changes no result is left out."""
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
    """Return an option as it was given, repeated where it has several values."""
    if value is False and parameter.secondary_opts:
        return [max(parameter.secondary_opts, key=len)]
    name = max(parameter.opts, key=len)
    if isinstance(value, tuple):
        return [word for item in value for word in (name, str(item))]
    return ([name] if value is True else [name, str(value)]) if _given(value) else []
