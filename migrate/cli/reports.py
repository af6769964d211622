"""The option `--report FILE` of several commands, and the check of its paths before any work is done."""

from __future__ import annotations

from collections.abc import Sequence

import click

from migrate.cli.commands import PATH
from migrate.errors import MigrateError

REPORT = click.option(
    "--report",
    "reports",
    metavar="FILE",
    type=PATH,
    multiple=True,
    help="Write a report; the extension is its format: .json, .html, … (repeatable).",
)

#: As the writers of `migrate.report.writers.PRINTED`, which is not imported for `--help`.
STYLES = ("text", "json", "github", "sarif", "markdown")
STYLE = click.option(
    "--output-format",
    "style",
    type=click.Choice(STYLES),
    default="text",
    show_default=True,
    help="Format of what is printed to standard output.",
)


def check_reports(paths: Sequence[str]) -> None:
    """Raise MigrateError for a report that cannot be written; called before anything is written."""
    from pathlib import Path

    from migrate.report.writers import check_path
    from migrate.source.files.atomic_write import check_writable

    for path in paths:
        check_path(path)
        if not Path(path).parent.exists():
            raise MigrateError(f"{path}: its directory does not exist; create it first")
        check_writable(Path(path))
