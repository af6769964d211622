"""`migrate explain`: what was seen at a line of a source file, and why it did or did not match."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from migrate.cli.choices import choices

if TYPE_CHECKING:
    from migrate.source.settings.options import Given


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("place", metavar="FILE:LINE")
@click.option("--schema", metavar="FILE", help="The feature schema (YAML) of a Paddle model.")
@click.option("--project", metavar="DIR", help="The directory that is converted; found by the file where not given.")
@choices
def explain(place: str, schema: str | None, project: str | None, given: Given) -> None:
    """Say what was seen at a line, and why it does or does not convert.

    Shows the calls on the line and the rules that read them, the table that is made or used there with every use and
    what keeps it as it is, and what would have to change. The file is judged as `migrate convert DIR` judges it, DIR
    being the head of its project (pyproject.toml, setup.cfg, .git) or the working directory. A line of a notebook is
    named as findings name it: `model.ipynb:cell ID:LINE`. Exit code 0, or 2 when there is no such file or line.
    """
    from migrate.errors import MigrateError
    from migrate.schema import load_schema
    from migrate.source.driver.explain import explain as lines_of
    from migrate.source.settings.options import Options

    if project is not None and not Path(project).is_dir():
        raise MigrateError(f"{project}: no such directory; name the one that is converted")
    name, colon, number = place.rpartition(":")
    if not colon or not number.isdecimal():
        raise MigrateError(f"{place}: name a file and a line of it, such as model.py:12")
    options = Options(None if schema is None else load_schema(schema), given=given)
    root = None if project is None else Path(project)
    for line in lines_of(name, int(number), options, root):
        click.echo(line)
