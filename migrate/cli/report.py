"""`migrate report`: show a report, render it as HTML, or compare two reports."""

from __future__ import annotations

import sys

import click

from migrate.cli.commands import PATH, group
from migrate.cli.console import echo, folded, say
from migrate.cli.reports import STYLE


@group()
def report() -> None:
    """Show, render and compare the reports that `--report FILE.json` writes."""


@report.command()
@click.argument("path", metavar="R", type=PATH)
@STYLE
def show(path: str, style: str) -> None:
    """Print the report R (a JSON report) as text, or in another format.

    Exit code 0 when nothing is left to do, 1 when work remains, 2 when R cannot be read.
    """
    from migrate.report import summary, writers
    from migrate.report.serialize import read_report

    data = read_report(path)
    text = writers.printed(data, style)
    echo("\n".join(map(folded, text.split("\n"))) if style == "text" and sys.stdout.isatty() else text, nl=False)
    sys.exit(0 if summary.verdict(data)[0] == "ok" else 1)


@report.command()
@click.argument("paths", metavar="R...", nargs=-1, required=True, type=PATH)
@click.option("-o", "--output", metavar="FILE", type=PATH, required=True, help="Output file.")
def html(paths: tuple[str, ...], output: str) -> None:
    """Write the reports R (JSON) as one self-contained HTML page, e.g. a conversion and its verification."""
    from pathlib import Path

    from migrate.report import writers
    from migrate.report.files import write_atomically
    from migrate.report.merge import merge
    from migrate.report.serialize import read_report

    write_atomically(Path(output), writers.render(merge([read_report(path) for path in paths]), ".html"))
    say(f"wrote {output}")


@report.command()
@click.argument("old", metavar="A", type=PATH)
@click.argument("new", metavar="B", type=PATH)
@click.option(
    "--output-format",
    "--format",
    "style",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Format of what is printed to standard output.",
)
def diff(old: str, new: str, style: str) -> None:
    """Compare the report A with the later report B: what is new, updated, moved, fixed, unchanged.

    Exit code 0 when no remaining finding is new or worse, 1 when one is, 2 when the two cannot be compared.
    """
    from migrate.report import diff_show
    from migrate.report.serialize import read_report

    result = diff_show.compare(read_report(old), read_report(new))
    echo(diff_show.to_json(result) if style == "json" else diff_show.to_text(result), nl=False)
    sys.exit(result.exit_code)


@report.command()
def schema() -> None:
    """Print the JSON Schema of the reports that `--report FILE.json` writes."""
    from migrate.report import json_schema

    echo(json_schema.text(), nl=False)
