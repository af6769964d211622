"""`migrate check`: report what a conversion would do, in any format, or against what is known."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from migrate.cli.choices import choices
from migrate.cli.command_line import command_line
from migrate.cli.commands import PATH, command
from migrate.cli.console import NORMAL, VERBOSE, echo, is_watched, level, painted, say, say_command
from migrate.cli.conversion import (
    PATHS,
    SCHEMA,
    STREAM_NAME,
    check_assumed,
    check_unbucketed,
    convert_inputs,
    exit_code,
    is_stream,
    print_result,
    read_options,
    render_reports,
    say_programs,
    starts_of,
    summarize,
    write_reports,
)
from migrate.cli.next_step import after_check
from migrate.cli.reports import REPORT, STYLE, check_reports
from migrate.cli.running import Running, running_options
from migrate.errors import MigrateError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from migrate.report.model import Finding, Report
    from migrate.source.settings.options import Given


@command()
@PATHS
@SCHEMA
@REPORT
@STYLE
@click.option(
    "--baseline",
    metavar="FILE",
    type=PATH,
    help="Report, and fail for, only what FILE does not know: a report of an earlier check.",
)
@click.option("--update-baseline", is_flag=True, help="Write the findings of this run to the file of --baseline.")
@STREAM_NAME
@running_options
@choices
def check(
    paths: tuple[str, ...],
    schema: str | None,
    reports: tuple[str, ...],
    style: str,
    baseline: str | None,
    update_baseline: bool,
    overrides: Given,
    stdin_filename: str,
    **running: Unpack[Running],
) -> None:
    """Report what convert would do, without changing files.

    On a terminal: programs, then files with their tables, what each asks, and the next step. Elsewhere also all
    findings, one per line, to standard output; equal lines once, with their number. Exit code 0 when nothing is left
    to do, 1 when a conversion is available or work remains, 2 when the command could not run. With --baseline, 1 when
    something is new or worse.
    """
    from migrate.report import baseline as known
    from migrate.source.driver.run import make_report

    if update_baseline:
        if baseline is None:
            raise MigrateError("--update-baseline writes the file of --baseline; give --baseline FILE, too")
        check_reports([baseline])
    before = known.read(baseline) if baseline is not None and not update_baseline else None
    options = read_options(schema, overrides, reports)
    done = convert_inputs(paths, stdin_filename, options, running, "checking")
    report = make_report(command_line(), done, "", dry=True)
    check_assumed(report, options)
    check_unbucketed(report, options)
    compared = known.compare(before, report) if before is not None else None
    write_reports(render_reports(report if compared is None else compared.marked, reports), done)
    if baseline is not None and update_baseline:
        say(f"baseline: {known.write(report, baseline)} written to {baseline}")
    if style != "text" or compared is not None or level() != NORMAL or not is_watched():
        _print(report if compared is None else compared.shown, style)
    if compared is not None:
        say(compared.sentence(baseline or ""))
        sys.exit(1 if compared.shown.findings else 0)
    starts = None if is_stream(paths) else starts_of(paths, options, running)
    if starts is not None:
        say_programs(starts, report)
    summarize(report, reports, done, starts)
    following = after_check(report, command_line(), done, starts()) if starts is not None else ""
    if following:
        say_command(f"next: {following}")
    sys.exit(0 if update_baseline else exit_code(report, ignore_available=False))


def _print(report: Report, style: str) -> None:
    if style != "text":
        print_result(report, style)
        return
    from migrate.report.words import counted

    for text in counted(map(_text, report.findings)):
        echo(text)


def _text(finding: Finding) -> str:
    from migrate.report.words import place, verdict
    from migrate.report.writers.as_text import details

    reason = f" ({finding.reason})" if finding.reason else ""
    said = painted(verdict(finding), finding.state)
    first = f"{click.style(place(finding.location), bold=True)}: {said}: {finding.message}{reason}"
    return "\n    ".join([first, *(details(finding) if level() >= VERBOSE else ())])
