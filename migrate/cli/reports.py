"""The option `--report FILE`, which several commands have, and what is checked of it before anything else is done."""

from __future__ import annotations

from collections.abc import Sequence

import click

from migrate.errors import MigrateError

REPORT = click.option(
    "--report", "reports", metavar="FILE", multiple=True, help="Write a report: .json, .html, … (repeatable)."
)


def check_reports(paths: Sequence[str]) -> None:
    """Raise MigrateError when a report certainly cannot be written: asked before the first of several files."""
    from pathlib import Path

    from migrate.report.writers import check_path
    from migrate.source.files.atomic_write import check_writable

    for path in paths:
        check_path(path)
        if not Path(path).parent.exists():
            raise MigrateError(f"{path}: its directory does not exist; make it first")
        check_writable(Path(path))
