"""`migrate explain`: print what the converter found at a line, and why the line is or is not converted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from migrate.cli.choices import choices
from migrate.cli.commands import DIRECTORY, PATH, command
from migrate.cli.console import echo

if TYPE_CHECKING:
    from migrate.source.settings.options import Given


@command()
@click.argument("place", metavar="FILE:LINE")
@click.option("--schema", metavar="FILE", type=PATH, help="Feature schema (YAML) of a Paddle model.")
@click.option(
    "--project", metavar="DIR", type=DIRECTORY, help="Directory that is converted. Default: the project of FILE."
)
@choices
def explain(place: str, schema: str | None, project: str | None, overrides: Given) -> None:
    """Explain what was found at a line, and why it is or is not converted.

    Shows the table that is created or used there, with all of its uses and blockers, and what to change. FILE is
    analysed as `migrate convert DIR` analyses it, where DIR is the root of its project (with pyproject.toml, setup.cfg
    or .git) or else the working directory. For a notebook, write the place as findings do: `model.ipynb:cell ID:LINE`.
    Exit code 0, or 2 when the file or line does not exist.
    """
    from migrate.errors import MigrateError
    from migrate.schema import load_schema
    from migrate.source.driver.explain import explain as lines_of
    from migrate.source.settings.options import Options

    if project is not None and not Path(project).is_dir():
        raise MigrateError(f"{project}: no such directory; give the directory that is converted")
    name, colon, number = place.rpartition(":")
    if not colon or not number.isdecimal():
        raise MigrateError(f"{place}: not of the form FILE:LINE; give e.g. model.py:12")
    options = Options(None if schema is None else load_schema(schema), overrides=overrides)
    root = None if project is None else Path(project)
    for line in lines_of(name, int(number), options, root):
        echo(line)
