"""`migrate convert`: convert source files."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from migrate.cli.choices import choices
from migrate.cli.command_line import command_line
from migrate.cli.commands import DIRECTORY, command
from migrate.cli.console import first_names, print_diff, say, say_command
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
    starts_of,
    summarize,
    write_reports,
)
from migrate.cli.next_step import after_check, next_step, recorded_in, to_go_on
from migrate.cli.reports import REPORT, STYLE
from migrate.cli.running import Running, running_options
from migrate.errors import MigrateError

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Unpack

    from migrate.report.model import Report
    from migrate.source.driver.run import Converted
    from migrate.source.project.starts import Starts
    from migrate.source.project.whole_folder import Rest
    from migrate.source.settings.options import Given


@command()
@PATHS
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=DIRECTORY,
    help="Output directory; relative paths are kept. Default: ./migrated",
)
@click.option("--copy-rest", is_flag=True, help="Also copy files that do not change, so that programs run in DIR.")
@click.option("--in-place", is_flag=True, help="Overwrite the input files.")
@click.option("--diff", "show_diff", is_flag=True, help="Print unified diffs to stdout and write nothing.")
@click.option("--force", is_flag=True, help="Overwrite files that migrate did not write.")
@SCHEMA
@REPORT
@STYLE
@STREAM_NAME
@running_options
@choices
def convert(
    paths: tuple[str, ...],
    output: str | None,
    copy_rest: bool,
    in_place: bool,
    show_diff: bool,
    force: bool,
    schema: str | None,
    reports: tuple[str, ...],
    style: str,
    overrides: Given,
    stdin_filename: str,
    **running: Unpack[Running],
) -> None:
    """Convert source files to dynamic embedding tables.

    A directory stands for the Python files and notebooks in it; `-` converts standard input to standard output.

    Code that cannot be converted is left unchanged, and a finding names the reason. Exit code 0 when nothing is left
    to do, 1 when work remains, 2 when the command could not run.
    """
    stream = is_stream(paths)
    _check_outputs(output, copy_rest, in_place, show_diff, style, stream)
    from migrate.source.driver.run import make_report

    options = read_options(schema, overrides, reports)
    directory = None if in_place or show_diff or stream else _directory(paths, output)
    done = convert_inputs(paths, stdin_filename, options, running, "converting", skip=directory)
    rest = _rest(paths, directory, running) if copy_rest and directory is not None else None
    printed = stream and not show_diff
    files = _files(done, rest) if directory is not None else {}
    written = _where(done, directory, in_place, files, printed)
    report = make_report(command_line(), done, written, dry=show_diff)
    check_assumed(report, options)
    check_unbucketed(report, options)
    texts = render_reports(report, reports)
    if printed:
        _print_stream(done[0])
    else:
        _write(done, directory, in_place, force, files, rest)
    if show_diff:
        print_diff("".join(one.diff for one in done))
    write_reports(texts, done)
    if style != "text":
        print_result(report, style)
    starts = None if stream else starts_of(paths, options, running, skip=directory, changed=True)
    summarize(report, reports, done, starts)
    if not (stream or show_diff):
        _say_checkpoints(report, rest, directory, paths, reports)
    if directory is not None and starts is not None:
        records = options.overrides.evidence if options.overrides is not None else ()
        recorded = recorded_in(paths, records)
        _say_next(report, written, done, directory, starts(), schema, recorded)
    if in_place and written:
        say_command(f"undo: {shlex.join(['migrate', 'revert', *paths])}")
    sys.exit(exit_code(report, ignore_available=True))


def _say_next(
    report: Report,
    written: str,
    done: Sequence[Converted],
    directory: Path,
    starts: Starts,
    schema: str | None,
    recorded: Sequence[str],
) -> None:
    """Say what to type next: the proof of what changed; where nothing did, what `migrate check` suggests."""
    if any(one.result.changed for one in done):
        suggested = next_step(command_line(), done, directory, starts, schema, recorded)
    else:
        what = "nothing was written" if not written else "nothing converts: unchanged copies were written"
        say(f"{what} to {directory.as_posix()}/")
        suggested = after_check(report, command_line(), done, starts)
    if suggested:
        say_command(f"next: {suggested}")


def _check_outputs(
    output: str | None, copy_rest: bool, in_place: bool, show_diff: bool, style: str, stream: bool
) -> None:
    """Raise MigrateError for options that send the result to two places."""
    if sum((bool(output), in_place, show_diff)) > 1:
        raise MigrateError("-o, --in-place and --diff cannot be combined; give one of them")
    if copy_rest and (in_place or show_diff):
        raise MigrateError("--copy-rest copies into the output directory; remove --in-place and --diff")
    if stream and (output or in_place or copy_rest):
        raise MigrateError("`-` writes to standard output; remove -o, --copy-rest and --in-place")
    if style != "text" and (stream or show_diff):
        raise MigrateError(f"--output-format {style} is printed where --diff and `-` print; use --report FILE")


def _directory(paths: Sequence[str], output: str | None) -> Path:
    """Return the output directory; one that nobody named must lie inside of the current directory."""
    from pathlib import Path

    from migrate.source.files.staying_inside import check_inside

    directory = Path(output or "migrated")
    _check_apart(paths, directory)
    if output is None:
        check_inside(Path(), directory)
    return directory


def _where(
    done: Sequence[Converted], directory: Path | None, in_place: bool, files: Mapping[Path, bytes], printed: bool
) -> str:
    """Return where the changed files go, in words; empty where there are none."""
    changed = any(one.result.changed for one in done)
    if printed or in_place:
        return ("to standard output" if printed else "in place") if changed else ""
    count = f"{len(files)} {'file' if len(files) == 1 else 'files'}"
    return f"{count} to {directory.as_posix()}/" if files and directory is not None else ""


def _files(done: Sequence[Converted], rest: Rest | None) -> dict[Path, bytes]:
    """Return the files of the output directory: files that do not change, which changed ones replace."""
    files = {path: data for one in done for path, data in one.outputs(everything=False).items()}
    return {**rest.files, **files} if rest is not None else files


def _print_stream(converted: Converted) -> None:
    """Print the result; text that cannot be converted is printed unchanged, so that a pipe does not lose it."""
    extra = ", ".join(converted.result.outputs)
    if extra:
        raise MigrateError(f"the conversion writes further files ({extra}); give the path of the file instead of `-`")
    sys.stdout.buffer.write(converted.data)
    sys.stdout.buffer.flush()


def _rest(paths: Sequence[str], directory: Path, running: Running) -> Rest:
    """Return all files below the given directories, and say which are not copied."""
    from migrate.source.project.whole_folder import LARGEST, files_below

    rest = files_below(paths, directory, not running["no_gitignore"])
    for left, why, remedy in (
        (rest.large, f"larger than {LARGEST // 10**6} MB", ""),
        (rest.links, "a link to a place outside of the directory", ""),
        (rest.ignored, "which git ignores", "give --no-gitignore, or "),
    ):
        if left:
            say(f"not copied: {first_names(left)}, {why}; {remedy}copy or link what the program reads")
    return rest


def _say_checkpoints(
    report: Report, rest: Rest | None, directory: Path | None, paths: Sequence[str], reports: Sequence[str]
) -> None:
    """Say how the converted program trains on from checkpoints of the original, if there are any.

    A program with tables in its source cannot restore them; where they are copied, it would try to.
    """
    from pathlib import Path

    from migrate.checkpoint.latest import beside, is_of_saver
    from migrate.report.model import Applicability

    is_of_runtime = any(one.target == "runtime" for one in report.inputs)
    if not is_of_runtime or all(one.applicability in (None, Applicability.IN_GRAPH) for one in report.tables):
        return
    saved = []
    if rest is not None:
        indices = {name: Path(f"{name}.index") for name in rest.checkpoints}
        saved = [name for name, index in indices.items() if is_of_saver(index, rest.files[index], rest.has)]
    if saved and directory is not None:
        say(
            f"copied: {first_names([(directory / one).as_posix() for one in saved])}, a checkpoint of the original, "
            "which the converted program cannot restore; remove it and the file `checkpoint` beside it"
        )
    folders = beside(paths, directory)
    if folders:
        say_command(to_go_on(command_line(), folders, reports))


def _write(
    done: Sequence[Converted],
    directory: Path | None,
    in_place: bool,
    force: bool,
    files: Mapping[Path, bytes],
    rest: Rest | None,
) -> None:
    """Write the changed files; every check is made before the first byte is written.

    Where there is an output directory, `files` go there; those of them that come from `rest` keep their mode.
    """
    from migrate.source.files.atomic_write import OutputDirectory, check_writable, write_files
    from migrate.source.files.journal import Journal, record_in_place

    changed = [one for one in done if one.result.changed]
    if in_place:
        for converted in changed:
            check_writable(converted.source.path)
        record_in_place((one.source.path, one.original, one.data) for one in changed)
        write_files({one.source.path: one.data for one in changed})
    if in_place or directory is None:
        return
    executable = {one.source.relative for one in done if os.access(one.source.path, os.X_OK)}
    journal = Journal(directory)  # raises for an unreadable journal, before anything is written
    OutputDirectory(directory, force).write(files, executable | (rest.executable if rest is not None else set()))
    if files:
        journal.record((directory / one.source.relative, one.original, one.data) for one in changed)


def _check_apart(paths: Sequence[str], directory: Path) -> None:
    """Raise MigrateError for an input that is the output directory, of which nothing would be read."""
    from pathlib import Path

    for path in paths:
        with contextlib.suppress(OSError):  # told where the path is read
            if not Path(path).is_dir() or Path(path).resolve() != directory.resolve():
                continue
            raise MigrateError(f"{path}: is the output directory, too; give another one with -o, or use --in-place")
