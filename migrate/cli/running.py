"""Options and progress bar of `convert` and `check`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from migrate.cli.commands import DIRECTORY
from migrate.cli.console import shows_progress
from migrate.errors import MigrateError

if TYPE_CHECKING:
    from pathlib import Path

    from migrate.source.driver.run import How

Command = TypeVar("Command", bound=Callable[..., Any])


class Running(TypedDict):
    """The values of `running_options`, as click passes them."""

    jobs: int | None
    no_cache: bool
    cache_dir: str | None
    no_gitignore: bool
    include_generated: bool


def running_options(command: Command) -> Command:
    """Add the options that control how files are found and processed."""
    options = (
        click.option(
            "-j", "--jobs", metavar="N", type=click.IntRange(min=1), help="Number of processes. Default: one per CPU."
        ),
        click.option("--no-cache", is_flag=True, help="Do not reuse results of earlier runs."),
        click.option(
            "--cache-dir",
            metavar="DIR",
            type=DIRECTORY,
            help="Directory of the result cache. Default: ~/.cache/recmigrate",
        ),
        click.option("--no-gitignore", is_flag=True, help="Also convert files that .gitignore excludes."),
        click.option("--include-generated", is_flag=True, help="Also convert generated files."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def how(running: Running, doing: str, skip: Path | None = None) -> How:
    """Return the settings of a run; `doing` says what is done to the files, such as `checking`."""
    from pathlib import Path

    from migrate.source.driver.result_cache import Cache, default_directory
    from migrate.source.driver.run import How

    cache_dir = running["cache_dir"]
    if cache_dir and Path(cache_dir).exists() and not Path(cache_dir).is_dir():
        raise MigrateError(f"--cache-dir {cache_dir}: is not a directory; give a directory, which is created if needed")
    directory = Path(cache_dir) if cache_dir else default_directory()
    return How(
        skip=skip,
        gitignore=not running["no_gitignore"],
        generated=running["include_generated"],
        jobs=running["jobs"] or len(os.sched_getaffinity(0)),
        cache=None if running["no_cache"] or directory is None else Cache(directory),
        progress=Progress(doing) if shows_progress() else None,
    )


class Progress:
    """A progress bar on the terminal, which says what is done; it goes once all is done."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            label = f"{self._doing} {total} {'file' if total == 1 else 'files'}"
            self._bar = click.progressbar(length=total, label=label, file=sys.stderr, show_pos=True)
            self._bar.__enter__()
        self._bar.update(done - self._bar.pos)
        if done == total:
            self._bar.__exit__(None, None, None)
            sys.stderr.write("\x1b[1A\x1b[2K")
