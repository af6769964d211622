"""Runs the command and ends the process: an exit code, at most one sentence on stderr, and never a traceback.

0: done; 1: work is left; 2: the command could not run; 129: its terminal was closed; 130: ended by Ctrl-C; 141: nobody
reads the output any more; 143: ended by SIGTERM. From 129 on, these are the codes that shells give for signals: SIGHUP,
SIGINT, SIGPIPE and SIGTERM.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from types import FrameType

import click

from migrate.cli.console import echo, forced_color
from migrate.errors import PACKAGES, MigrateError

FAILED = 2
INTERRUPTED = 130
UNREAD = 141
#: Signals that end the process in order, and its exit codes.
ENDING = {signal.SIGHUP: 129, signal.SIGTERM: 143}
#: Packages of this distribution: if one of their modules is missing, the installation itself is broken.
OWN = ("migrate", "rewriter", "runtime")
LONGEST = 300
AGAIN = 0.02  #: seconds after which a signal that was lost is sent again


def prepare_streams() -> None:
    """Open standard streams that the caller closed, and let text that the terminal cannot show be printed escaped.

    Without this, the first file that the command opens would get the number of a closed stream, and what is printed
    would be written to it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # A closed one is None; this gets its number, the lowest that is free, and stays open.
        stream = getattr(sys, name) or open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115, PTH123
        setattr(sys, name, stream)
        if mode == "w" and isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):
                stream.reconfigure(errors="backslashreplace")


def end_by_signals() -> None:
    """Let SIGTERM and SIGHUP end the process as Ctrl-C does: what it runs is ended, temporary files are removed.

    A SIGHUP that the caller ignores, as `nohup` does, stays ignored.
    """
    for number, code in ENDING.items():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_, code=code: sys.exit(code))
    sys.unraisablehook = _not_lost


def _not_lost(event: sys.UnraisableHookArgs) -> None:
    """Send a signal again whose exception Python has dropped, because it came while an object was being deleted.

    Only once this function has ended: Python drops what is raised in it, too.
    """
    codes = {code: number for number, code in ENDING.items()}
    error = event.exc_value
    if isinstance(error, KeyboardInterrupt):
        number: int | None = signal.SIGINT
    else:
        number = codes.get(error.code) if isinstance(error, SystemExit) and isinstance(error.code, int) else None
    if number is None:
        sys.__unraisablehook__(event)
    else:
        signal.signal(signal.SIGALRM, lambda _, frame: _sent_again(number, frame))
        signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)


def _sent_again(number: int, frame: FrameType | None) -> None:
    """Send a signal to this process, unless the deletion has not ended: the timer asks again."""
    while frame is not None and frame.f_code is not _not_lost.__code__:
        frame = frame.f_back
    if frame is None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.raise_signal(number)


def finish(command: Callable[[], object]) -> int:
    """Call the command, print why it failed, if so, and return the exit code of the process."""
    try:
        code = _code_of(command)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _failed("interrupted", INTERRUPTED)
    except BaseException as error:
        code = UNREAD if isinstance(error, BrokenPipeError) and _nobody_reads() else _failed(sentence(error), FAILED)
        if code == FAILED and _is_internal(error) and {"-v", "--verbose"} & set(sys.argv):
            import traceback

            traceback.print_exception(error)
    # Buffered output cannot be written either; without this, Python would try at exit and print a traceback.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return code


def _code_of(command: Callable[[], object]) -> int:
    try:
        command()
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        return _failed(_of_usage(error), FAILED)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 0 if error.code is None else FAILED
    return 0


def _failed(text: str, code: int) -> int:
    with contextlib.suppress(OSError):
        echo(f"{click.style('migrate:', fg='red', bold=True)} {text}", err=True, color=forced_color())
    return code


def _nobody_reads() -> bool:
    """True if a pipe that the command prints to is closed at its other end."""
    poll = select.poll()
    for number in (1, 2):
        poll.register(number, 0)  # errors are told in any case
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _is_internal(error: BaseException) -> bool:
    return not isinstance(error, (MigrateError, OSError, ModuleNotFoundError)) or _is_own(error)


def _is_own(error: BaseException) -> bool:
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else "another"
    return name in ("", *OWN)


def sentence(error: BaseException) -> str:
    """Return the message for an exception: the thing, what is wrong with it, and the remedy."""
    if isinstance(error, MigrateError):
        return str(error)
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, ModuleNotFoundError) and not _is_own(error):
        name = str(error.name).partition(".")[0]
        package = PACKAGES.get(name, name)
        return f"this command needs the module `{name}`, which is not installed; run `pip install {package}`"
    if isinstance(error, MemoryError):
        return "the memory is used up; give fewer files at once, or --jobs 1"
    what = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
    return f"internal error, {what}; this is a mistake of migrate: report it with what --verbose prints"


def _of_usage(error: click.UsageError) -> str:
    """Return the sentence for a command line that cannot be read; click's own text has three lines."""
    if isinstance(error, click.NoSuchOption):
        import difflib

        close = difflib.get_close_matches(error.option_name, error.possibilities or (), n=2, cutoff=0.7)
        return f"no such option `{error.option_name}`; {_meant(close, error)}"
    text = " ".join(error.format_message().split()).removesuffix(".")
    text = text[:1].lower() + text[1:]
    return text if ";" in text else f"{text}; {_meant((), error)}"


def _meant(close: Sequence[str], error: click.UsageError) -> str:
    known = error.ctx.command_path if error.ctx else "migrate"
    return f"did you mean {' or '.join(f'`{one}`' for one in close)}?" if close else f"see `{known} --help`"


def _of_system(error: OSError) -> str:
    what = error.strerror or str(error)
    if error.filename is None:
        return f"the output cannot be written ({what}); free some space or redirect the output"
    return f"{os.fsdecode(error.filename)}: {what}; check that it exists and that its permissions are right"
