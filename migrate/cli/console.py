"""What is printed beside results: how much, and in which colours.

Results go to standard output. What a person wants to know while a command runs goes to standard error, through `say`
and `detail`, so that `--quiet` and `--verbose` hold everywhere.
"""

from __future__ import annotations

import os
import sys

import click

#: Key of a context's `meta`, and its values.
LEVEL = "migrate.level"
QUIET, NORMAL, VERBOSE = 0, 1, 2


def level() -> int:
    """Return how much the running command prints."""
    context = click.get_current_context(silent=True)
    return NORMAL if context is None else int(context.meta.get(LEVEL, NORMAL))


def say(text: str) -> None:
    """Print a line to standard error, unless `--quiet` is given."""
    if level() > QUIET:
        click.echo(text, err=True)


def shows_progress() -> bool:
    """True where a person watches, who wants to know how long it takes: standard error is a terminal."""
    return level() > QUIET and sys.stderr.isatty()


def forced_color() -> bool | None:
    """Return what the environment says about colours; None: colours on terminals only.

    NO_COLOR switches them off, also where FORCE_COLOR is set, as in Python itself.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None
