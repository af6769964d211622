"""`migrate convert` and `migrate check`: convert source files, or report what a conversion would do."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from migrate.cli.choices import choices
from migrate.cli.command_line import command_line
from migrate.cli.commands import DIRECTORY, PATH, command
from migrate.cli.console import say
from migrate.cli.reports import REPORT, check_reports
from migrate.cli.running import Running, how, running_options
from migrate.errors import MigrateError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    from migrate.report.model import Report
    from migrate.source.driver.run import Converted
    from migrate.source.project.discovery import Input
    from migrate.source.settings.options import Given, Options

PATHS = click.argument("paths", metavar="PATH...", nargs=-1, required=True)
STREAM = "-"
#: One of these occurs in each file that trains a Keras model.
KERAS_TRAINS = (".fit(", ".train_on_batch(", ".apply_gradients(", ".minimize(")
STREAM_NAME = click.option(
    "--stdin-filename", metavar="NAME", default="<stdin>", help="File name to use in findings when PATH is `-`."
)
SCHEMA = click.option("--schema", metavar="FILE", type=PATH, help="Feature schema (YAML) of a Paddle model.")


@command()
@PATHS
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=DIRECTORY,
    help="Output directory; relative paths are kept. Default: ./migrated",
)
@click.option("--in-place", is_flag=True, help="Overwrite the input files.")
@click.option("--diff", "show_diff", is_flag=True, help="Print unified diffs to stdout and write nothing.")
@click.option("--mark", is_flag=True, help="Write a comment above each statement that blocks a table.")
@click.option("--force", is_flag=True, help="Overwrite files that migrate did not write.")
@SCHEMA
@REPORT
@STREAM_NAME
@running_options
@choices
def convert(
    paths: tuple[str, ...],
    output: str | None,
    in_place: bool,
    show_diff: bool,
    mark: bool,
    force: bool,
    schema: str | None,
    reports: tuple[str, ...],
    given: Given,
    stdin_filename: str,
    **running: Unpack[Running],
) -> None:
    """Convert source files to dynamic embedding tables.

    A directory stands for the Python files and notebooks in it; `-` converts standard input to standard output.

    Code that cannot be converted is left unchanged, and a finding names the reason. Exit code 0 when nothing is left
    to do, 1 when work remains, 2 when the command could not run.
    """
    if sum((bool(output), in_place, show_diff)) > 1:
        raise MigrateError("-o, --in-place and --diff cannot be combined; give one of them")
    from pathlib import Path

    from migrate.source.driver.run import make_report

    stream = _is_stream(paths)
    if stream and (output or in_place):
        raise MigrateError("`-` writes to standard output; remove -o and --in-place")
    options = replace(_options(schema, given, reports), mark=mark)
    directory = None if in_place or show_diff or stream else Path(output or "migrated")
    if directory is not None:
        _check_apart(paths, directory)
    done = _converted(paths, stdin_filename, options, running, skip=directory)
    written = _print_stream(done[0]) if stream and not show_diff else _write(done, directory, in_place, force)
    if show_diff:
        click.echo("".join(one.diff for one in done), nl=False)
    report = make_report(command_line(), done, written, dry=show_diff)
    _finish(report, done, reports)
    if directory is not None and any(one.result.changed for one in done):
        _next_step(done, directory, schema)
    if in_place and written:
        say(f"undo: {shlex.join(['migrate', 'revert', *paths])}")
    sys.exit(_exit_code(report, ignore_available=True))


@command()
@PATHS
@SCHEMA
@REPORT
@STREAM_NAME
@running_options
@choices
def check(
    paths: tuple[str, ...],
    schema: str | None,
    reports: tuple[str, ...],
    given: Given,
    stdin_filename: str,
    **running: Unpack[Running],
) -> None:
    """Report what convert would do, without changing files.

    Findings are printed to stdout, one per line. Exit code 0 when nothing is left to do, 1 when a conversion is
    available or work remains, 2 when the command could not run.
    """
    from migrate.report.words import place, verdict
    from migrate.source.driver.run import make_report

    done = _converted(paths, stdin_filename, _options(schema, given, reports), running)
    report = make_report(command_line(), done, "", dry=True)
    for finding in report.findings:
        reason = f" ({finding.reason})" if finding.reason else ""
        click.echo(f"{place(finding.location)}: {verdict(finding)}: {finding.message}{reason}")
    _finish(report, done, reports)
    sys.exit(_exit_code(report, ignore_available=False))


def _options(schema: str | None, given: Given, reports: Sequence[str]) -> Options:
    from migrate.source.settings.options import Options

    if reports:
        check_reports(reports)
    if schema is None:
        return Options(given=given)
    from migrate.schema import load_schema

    return Options(load_schema(schema), given=given)


def _is_stream(paths: Sequence[str]) -> bool:
    if STREAM in paths and len(paths) > 1:
        raise MigrateError("`-` (standard input) cannot be combined with other paths; give it alone")
    return STREAM in paths


def _converted(
    paths: Sequence[str], name: str, options: Options, running: Running, skip: Path | None = None
) -> list[Converted]:
    """Convert the files below `paths`, or standard input; raises MigrateError when no file was found."""
    from migrate.source.driver.run import convert_paths, convert_stream, nothing_found

    if _is_stream(paths):
        return [convert_stream(sys.stdin.buffer.read(), name, options)]
    done = convert_paths(paths, options, how(running, skip))
    if not done:
        raise nothing_found(paths)
    return done


def _print_stream(converted: Converted) -> str:
    """Print the result; text that cannot be converted is printed unchanged, so that a pipe does not lose it."""
    extra = ", ".join(converted.result.outputs)
    if extra:
        raise MigrateError(f"the conversion writes further files ({extra}); give the path of the file instead of `-`")
    sys.stdout.buffer.write(converted.data)
    sys.stdout.buffer.flush()
    return "to standard output" if converted.result.changed else ""


def _write(done: Sequence[Converted], directory: Path | None, in_place: bool, force: bool) -> str:
    """Write the changed files and return where, in words; every check is made before the first byte is written."""
    from migrate.source.files.atomic_write import OutputDirectory, check_writable, write_files
    from migrate.source.files.journal import Journal, record_in_place

    if in_place:
        changed = [one for one in done if one.result.changed]
        for one in changed:
            _check_place(one.source)
            check_writable(one.source.path)
        record_in_place((one.source.path, one.original, one.data) for one in changed)
        write_files({one.source.path: one.data for one in changed})
        return "in place" if changed else ""
    if directory is None:
        return ""
    files = {path: data for one in done for path, data in one.outputs(everything=False).items()}
    journal = Journal(directory)  # raises for an unreadable journal, before anything is written
    OutputDirectory(directory, force).write(files)
    if files:
        changed = [one for one in done if one.result.changed]
        journal.record((directory / one.source.relative, one.original, one.data) for one in changed)
    return f"{len(files)} {'file' if len(files) == 1 else 'files'} to {directory.as_posix()}/" if files else ""


def _check_apart(paths: Sequence[str], directory: Path) -> None:
    """Raise MigrateError for an input that is the output directory, of which nothing would be read."""
    from pathlib import Path

    for path in paths:
        if Path(path).is_dir() and Path(path).resolve() == directory.resolve():
            raise MigrateError(f"{path}: is the output directory, too; give another one with -o, or use --in-place")


def _check_place(source: Input) -> None:
    """Raise MigrateError for a link that leads out of the given directory, where the user expects no changes."""
    outside = source.leads_out
    if outside is not None:
        raise MigrateError(
            f"{source.path}: is a link to {outside}, outside the directory; also give that file by name, or use -o"
        )


def _finish(report: Report, done: Sequence[Converted], reports: Sequence[str]) -> None:
    """Print the summary to stderr and write the reports; raises MigrateError when no input could be read."""
    from migrate.source.driver.run import all_failed
    from migrate.source.driver.summary import summary_lines

    for path in reports:
        from migrate.report.writers import write

        write(report, path)
    problem = all_failed(done)
    if problem:
        raise MigrateError(problem)
    for line in summary_lines(report):
        say(line)
    for path in reports:
        say(f"report: {path}")


def _next_step(done: Sequence[Converted], directory: Path, schema: str | None) -> None:
    """Print the `migrate verify` command for the first converted file that it can run."""
    first = next((one for one in done if _verifiable(one)), None)
    if first is None:
        return
    files = [first.result.path, (directory / first.source.relative).as_posix()]
    if any(finding.rule == "paddle-trainer" for one in done for finding in one.result.findings):
        files = [path.rpartition("/")[0] or "." for path in files]  # a trainer's model is proven as a whole
    needed = ["--schema", schema] if schema is not None and first.result.kind == "paddle" else []
    say(f"next: {shlex.join(['migrate', 'verify', *files, *needed])}")


def _verifiable(one: Converted) -> bool:
    """True for a changed file that `migrate verify` can run: no notebook, other SDK or untrained Keras model."""
    from migrate.report.model import State

    moved = [f.rule for f in one.result.findings if f.subject == "table" and f.state is State.APPLIED]
    only_layers = set(moved) == {"tf-keras-embedding"} and not any(call in one.result.original for call in KERAS_TRAINS)
    runs_here = one.result.target == "runtime" and one.source.path.suffix != ".ipynb"
    converts = bool(moved) or one.result.kind == "paddle"  # `--mark` alone changes no code
    return one.result.changed and converts and runs_here and not only_layers


def _exit_code(report: Report, ignore_available: bool) -> int:
    from migrate.report.model import State

    left = [f for f in report.findings if f.remains and not (ignore_available and f.state is State.AVAILABLE)]
    return 1 if left else 0
