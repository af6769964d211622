"""Options, progress bar and Ctrl-C handling of `convert` and `check`."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

if TYPE_CHECKING:
    from pathlib import Path

    from migrate.source.driver.run import How

Command = TypeVar("Command", bound=Callable[..., Any])
INTERRUPTED = 130  #: exit code that shells use for a program ended by Ctrl-C


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
        click.option("--cache-dir", metavar="DIR", help="Directory of the result cache. Default: ~/.cache/recmigrate"),
        click.option("--no-gitignore", is_flag=True, help="Also convert files that .gitignore excludes."),
        click.option("--include-generated", is_flag=True, help="Also convert generated files."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def how(running: Running, skip: Path | None = None) -> How:
    """Return the settings of a run."""
    from pathlib import Path

    from migrate.source.driver.result_cache import Cache, default_directory
    from migrate.source.driver.run import How

    given = running["cache_dir"]
    directory = Path(given) if given else default_directory()
    return How(
        skip=skip,
        gitignore=not running["no_gitignore"],
        generated=running["include_generated"],
        jobs=running["jobs"] or len(os.sched_getaffinity(0)),
        cache=None if running["no_cache"] or directory is None else Cache(directory),
        progress=Progress() if sys.stderr.isatty() else None,
    )


class Progress:
    """A progress bar on the terminal."""

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = click.progressbar(length=total, label="converting", file=sys.stderr, show_pos=True)
            self._bar.__enter__()
        self._bar.update(done - self._bar.pos)
        if done == total:
            self._bar.__exit__(None, None, None)


def interruptible(command: Command) -> Command:
    """Let Ctrl-C end a command with a short message and exit code 130; no file is left partly written."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except KeyboardInterrupt:
            click.echo("\nmigrate: interrupted", err=True)
            sys.exit(INTERRUPTED)

    return run  # type: ignore[return-value]
