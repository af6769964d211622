"""What is printed beside results: how much, and in which colours.

Results go to standard output. What a person wants to know while a command runs goes to standard error, through `say`
and `detail`, so that `--quiet` and `--verbose` hold everywhere.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import shorten
from typing import TYPE_CHECKING, TypeVar

import click

from migrate.report.visible import visible

if TYPE_CHECKING:
    from migrate.report.model import State

Item = TypeVar("Item")
#: Key of a context's `meta`, and its values.
LEVEL = "migrate.level"
QUIET, NORMAL, VERBOSE = 0, 1, 2
#: Seconds between two looks at how much is done, columns of the line that says it, and what tells nothing yet.
_SECONDS, _WIDTH, _TOO_LITTLE = 0.3, 78, 0.02
#: How many names of a list are shown.
_NAMED = 3
#: What `painted` and the like write: bold, red to cyan, and their end.
_COLOURS = re.compile("\x1b\\[(?:0|1|3[1-6])m")


def level() -> int:
    """Return how much the running command prints."""
    context = click.get_current_context(silent=True)
    return NORMAL if context is None else int(context.meta.get(LEVEL, NORMAL))


def echo(text: str, *, nl: bool = True, err: bool = False, color: bool | None = None) -> None:
    """Print text of a command to standard output, or error.

    It may have names of files, tables and ops, whose control characters a terminal would obey: all are escaped, but for
    the colours that are given here.
    """
    plain = iter(_COLOURS.split(text))
    parts = [visible(next(plain)), *(colour + visible(next(plain)) for colour in _COLOURS.findall(text))]
    click.echo("".join(parts), nl=nl, err=err, color=color)


def say(text: str) -> None:
    """Print lines to standard error, unless `--quiet` is given; a terminal gets them broken at words."""
    if level() > QUIET:
        echo("\n".join(map(folded, text.split("\n"))) if sys.stderr.isatty() else text, err=True)


def say_command(text: str) -> None:
    """Print a line that has a command, whole, so that it can be copied."""
    if level() > QUIET:
        echo(text, err=True)


def first_names(names: Sequence[str]) -> str:
    """Return the first names of a list that has at least one, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def folded(text: str) -> str:
    """Return a line broken at words to the width of the terminal; what stands in backticks is one word.

    Further lines are indented by four more than the first. A row of columns (two blanks in it) stays whole.
    """
    if "  " in text.strip():
        return text
    width = shutil.get_terminal_size().columns
    indent = text[: len(text) - len(text.lstrip(" "))]
    lines, line = [], indent
    for word in re.findall(r"(?:`[^`]*`|[^ `]|`)+", text):
        gap = "" if line.isspace() or not line else " "
        if gap and len(_COLOURS.sub("", f"{line}{gap}{word}")) > width:
            lines.append(line)
            line, gap = f"{indent}    ", ""
        line += gap + word
    return "\n".join([*lines, line])


def is_watched() -> bool:
    """True where all that is printed is read by a person: both outputs are a terminal's."""
    return sys.stdout.isatty() and sys.stderr.isatty()


def shows_progress() -> bool:
    """True where a person watches, who wants to know how long it takes: standard error is a terminal."""
    return level() > QUIET and sys.stderr.isatty()


def with_progress(items: Iterable[Item], count: int, text: str) -> Iterator[Item]:
    """Yield the items, and show a bar with the time left to who watches."""
    if not shows_progress():
        yield from items
        return
    with click.progressbar(items, length=count, label=text, file=sys.stderr, show_pos=True) as bar:
        yield from bar


@contextmanager
def with_time_left(share: Callable[[], float]) -> Iterator[Callable[[str], None]]:
    """Yield what says which step of the block begins: in a line, or to who watches with the time that is left.

    `share` returns how much of it is done, 0 to 1. Not a bar of click's, whose time left is an average over looks: the
    first steps take far longer than the others.
    """
    if not shows_progress():
        yield say
        return
    ended, begun, doing = threading.Event(), time.monotonic(), [""]

    def watch() -> None:
        done = 0.0
        while not ended.wait(_SECONDS):
            done = max(done, share())
            step = shorten(doing[-1], _WIDTH - 25, placeholder=" …")
            sys.stderr.write(f"\r{time_left(step, done, time.monotonic() - begun):{_WIDTH}}")
            sys.stderr.flush()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield doing.append
    finally:
        ended.set()
        watcher.join()
        sys.stderr.write(f"\r{'':{_WIDTH}}\r")
        sys.stderr.flush()


def time_left(text: str, done: float, seconds: float) -> str:
    """Return e.g. `running: 40%, about 12 s left`, of a share that took so many seconds; no guess from too little."""
    if done < _TOO_LITTLE:
        return text
    left = seconds * (1 - done) / done
    return f"{text}: {done:.0%}, about {f'{left / 60:.0f} min' if left > 90 else f'{left:.0f} s'} left"


def forced_color() -> bool | None:
    """Return what the environment says about colours; None: colours on terminals only.

    NO_COLOR switches them off, also where FORCE_COLOR is set, as in Python itself.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return False if os.environ.get("TERM") == "dumb" else None


#: The colours of verdicts, by the values of `State`.
_VERDICTS = {
    "applied": "green",
    "available": "green",
    "suggested": "yellow",
    "unsupported": "red",
    "opaque": "red",
    "failed": "red",
    "noted": "cyan",
}
_DIFF = {"+": "green", "-": "red", "@": "cyan"}


def painted(text: str, state: State) -> str:
    """Return the text in the colour of a verdict; where no colours are shown, `click.echo` takes it out again."""
    return click.style(text, fg=_VERDICTS[state.value])


def print_diff(diff: str) -> None:
    """Print a unified diff to standard output: in colours on a terminal, elsewhere byte for byte, as `patch` needs."""
    if not diff:
        return
    if forced_color() is False or not (forced_color() or sys.stdout.isatty()):
        shown = visible(diff) if sys.stdout.isatty() else diff
        click.echo(shown.encode("utf-8", errors="surrogateescape"), nl=False)
        return
    for line in diff.split("\n")[:-1]:
        bold = line.startswith(("+++ ", "--- "))
        echo(click.style(line, bold=True) if bold else click.style(line, fg=_DIFF.get(line[:1])))
