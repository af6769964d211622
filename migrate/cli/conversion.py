"""What `migrate convert` and `migrate check` share: their inputs, what they print at the end, and their exit code."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from migrate.cli.commands import PATH
from migrate.cli.console import QUIET, VERBOSE, echo, level, painted, say, say_command
from migrate.cli.reports import check_reports
from migrate.cli.running import Running, how
from migrate.errors import MigrateError

if TYPE_CHECKING:
    from pathlib import Path

    from migrate.report.model import Report
    from migrate.source.driver.run import Converted
    from migrate.source.project.starts import Starts
    from migrate.source.settings.options import Given, Options

PATHS = click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=PATH)
STREAM = "-"
STREAM_NAME = click.option(
    "--stdin-filename", metavar="NAME", default="<stdin>", help="File name to use in findings when PATH is `-`."
)
SCHEMA = click.option("--schema", metavar="FILE", type=PATH, help="Feature schema (YAML) of a Paddle model.")


def read_options(schema: str | None, overrides: Given, reports: Sequence[str]) -> Options:
    """Return the options of the run; raises MigrateError where a report cannot be written, or for a bad schema."""
    from migrate.source.settings.options import Options

    if reports:
        check_reports(reports)
    if schema is None:
        return Options(overrides=overrides)
    from migrate.schema import load_schema

    return Options(load_schema(schema), overrides=overrides)


def is_stream(paths: Sequence[str]) -> bool:
    """True if standard input is converted; raises MigrateError where it is given beside other paths."""
    if STREAM in paths and len(paths) > 1:
        raise MigrateError("`-` (standard input) cannot be combined with other paths; give it alone")
    return STREAM in paths


def convert_inputs(
    paths: Sequence[str], name: str, options: Options, running: Running, doing: str, skip: Path | None = None
) -> list[Converted]:
    """Convert the files below `paths`, or standard input; raises MigrateError when no file was found."""
    from migrate.source.driver.run import convert_paths, convert_stream, nothing_found

    if is_stream(paths):
        if options.overrides is not None and options.overrides.evidence:
            raise MigrateError("--evidence: a record names files; give the path of the file in place of `-`")
        return [convert_stream(sys.stdin.buffer.read(), name, options)]
    # Syntax trees are millions of objects that live long. To look for cycles after 50,000 new ones takes a tenth less
    # time than after 2,000, and no more memory, as little of what is made is dropped.
    gc.set_threshold(50_000)
    done = convert_paths(paths, options, how(running, doing, skip))
    if not done:
        raise nothing_found(paths)
    return done


def say_programs(starts: Callable[[], Starts], report: Report) -> None:
    """Print what each program converts, to standard error; nothing for a single file."""
    from migrate.source.driver.programs import program_lines

    if level() > QUIET:
        for line in program_lines(starts(), report):
            say(line)


def starts_of(
    paths: Sequence[str], options: Options, running: Running, skip: Path | None = None, changed: bool = False
) -> Callable[[], Starts]:
    """Return what returns the files below `paths` as programs, which are read on the first call.

    If files may have `changed`, no record is read, which would have the text before.
    """
    overrides = (
        replace(options.overrides, evidence=()) if changed and options.overrides is not None else options.overrides
    )

    @functools.cache
    def starts() -> Starts:
        from migrate.source.driver.given_files import project_of
        from migrate.source.project.starts import Starts

        gitignore, generated = not running["no_gitignore"], running["include_generated"]
        return Starts(project_of(paths, replace(options, overrides=overrides), gitignore, generated, skip))

    return starts


def check_assumed(report: Report, options: Options) -> None:
    """Raise MigrateError if `--assume` names what is neither a table nor a rule that needs an assumption."""
    from migrate.report.model import State

    wanted = options.overrides.assume if options.overrides is not None else None
    doubts = [one for one in report.findings if one.state is State.SUGGESTED or one.assumptions]
    known = {*(one.name for one in report.tables), *(one.rule for one in doubts)}
    strange = next((name for name in wanted if name not in known), None) if isinstance(wanted, tuple) else None
    if strange is not None:
        asking = {one.name for one in report.tables if one.verdict is State.SUGGESTED} | {one.rule for one in doubts}
        listed = f"those that need one are {', '.join(sorted(asking))}" if asking else "nothing needs one"
        raise MigrateError(f"--assume={strange}: no table and no rule of that name needs an assumption; {listed}")


_UNDER_FACADE = (
    "--unbucket does not change programs of another SDK, which run as they are; give `migrate run --settings` a file "
    "with `unbucket: true`"
)


def check_unbucketed(report: Report, options: Options) -> None:
    """Raise MigrateError if `--unbucket` names a table that does not convert."""
    from migrate.report.model import Applicability, State
    from migrate.source.tensorflow.base.other_sdks import RULE
    from migrate.source.tensorflow.checks.given_up_buckets import ALL

    wanted = options.overrides.unbucket if options.overrides is not None else ()
    known = sorted({one.name for one in report.tables if one.verdict in (State.APPLIED, State.AVAILABLE)})
    strange = next((name for name in wanted if name not in (ALL, *known)), None)
    foreign = {one.location.path for one in report.findings if wanted and one.rule == RULE and one.remains}
    if strange is not None:
        other = f"none does; {_UNDER_FACADE}" if foreign else "none does; give the original of a program"
        listed = f"those that do are {', '.join(known)}" if known else other
        raise MigrateError(f"--unbucket {strange}: no table of that name converts; {listed}")
    for path in sorted(foreign) if level() > QUIET else ():
        say(f"note: {path}: {_UNDER_FACADE}")
    changed = {one.location.path for one in report.findings if one.applicability is Applicability.CHANGES_VALUES}
    paddle = [one.path for one in report.inputs if wanted and one.kind == "paddle"]
    if paddle and not changed & {*paddle} and level() > QUIET:
        say(f"note: {paddle[0]}: --unbucket changes nothing: no id is divided by the rows of an embedding")


def render_reports(report: Report, reports: Sequence[str]) -> dict[str, str]:
    """Return the texts of the reports by their paths; called before anything is written, as it may fail."""
    if not reports:
        return {}
    from migrate.report.writers import check_path, render

    return {path: render(with_rules(report), check_path(path)) for path in reports}


def write_reports(texts: Mapping[str, str], done: Sequence[Converted]) -> None:
    """Write the texts of reports; raises MigrateError when no input could be read."""
    from pathlib import Path

    from migrate.report.files import write_atomically
    from migrate.source.driver.run import all_failed

    for path, text in texts.items():
        write_atomically(Path(path), text)
    problem = all_failed(done)
    if problem:
        raise MigrateError(problem)


def print_result(report: Report, style: str) -> None:
    """Print the report to standard output in one of the formats for programs."""
    from migrate.report.writers import printed

    echo(printed(with_rules(report), style), nl=False)


def summarize(
    report: Report, reports: Sequence[str], done: Sequence[Converted], starts: Callable[[], Starts] | None
) -> None:
    """Print the summary to standard error, and why files have no table; `starts` is None for standard input."""
    from migrate.source.driver.programs import used_files
    from migrate.source.driver.summary import summary_lines
    from migrate.source.driver.untouched import reasons

    if level() > QUIET:
        used = (lambda: used_files(starts(), report)) if starts is not None and len(report.inputs) > 1 else None
        for line in summary_lines(report, painted, level() >= VERBOSE, used):
            say(line)
        for sentence in reasons(done):
            say(f"note: {sentence}")
    for path in reports:
        say_command(f"report: {path}")


def with_rules(report: Report) -> Report:
    """Return the report with what the rules of its findings say of themselves."""
    from migrate.source.configuration.user_rules import loaded
    from migrate.source.rules.records import described

    return described(report, loaded())


def exit_code(report: Report, ignore_available: bool) -> int:
    """Return 1 where work remains, else 0; a conversion that is available is work for `check` alone."""
    from migrate.report.model import State

    left = [f for f in report.findings if f.remains and not (ignore_available and f.state is State.AVAILABLE)]
    return 1 if left else 0
