"""The command line of the command that runs, for a report's reproduction line."""

from __future__ import annotations

import shlex

import click


def command_line() -> str:
    """Return e.g. `migrate convert net.py --schema s.yaml`; where reports go is left out, as it changes no result."""
    context = click.get_current_context()
    words = ["migrate", str(context.info_name)]
    options: list[str] = []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if isinstance(parameter, click.Argument):
            words += [str(item) for item in (value if isinstance(value, tuple) else (value,)) if _given(item)]
        elif parameter.name != "reports" and value != parameter.default and _given(value):
            options += [max(parameter.opts, key=len)] + ([] if value is True else [str(value)])
    return shlex.join([*words, *options])


def _given(value: object) -> bool:
    return value is not None and value is not False and value != ()
