"""How the command ends when it cannot go on: one sentence on stderr and exit code 2."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from migrate.errors import MigrateError

FAILED = 2
#: Packages of this distribution: where a module of theirs is missing, the installation is broken, not incomplete.
OWN = ("migrate", "rewriter", "runtime")
#: What packages are called where their modules have other names.
PACKAGES = {"paddle": "paddlepaddle", "yaml": "PyYAML", "google": "protobuf"}


def end(error: MigrateError | OSError | ModuleNotFoundError) -> None:
    """Say what stopped the command, and end the process; what cannot be said ends it all the same."""
    with contextlib.suppress(OSError):
        click.echo(f"migrate: {sentence(error)}", err=True)
    # What is still in a buffer cannot be written either: Python would try at its end, and say so in a traceback.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(FAILED)


def sentence(error: MigrateError | OSError | ModuleNotFoundError) -> str:
    """Return what an exception means to the user: the thing, what is wrong with it, and the remedy.

    Raises:
        ModuleNotFoundError: a module of this distribution is missing.
    """
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, ModuleNotFoundError):
        return _of_module(error)
    return str(error)


def _of_system(error: OSError) -> str:
    what = error.strerror or str(error)
    if error.filename is None:
        return f"the output cannot be written ({what}); free space, or print elsewhere"
    return f"{os.fsdecode(error.filename)}: {what}; see that it is there and may be read and written"


def _of_module(error: ModuleNotFoundError) -> str:
    name = (error.name or "").partition(".")[0]
    if not name or name in OWN:
        raise error
    package = PACKAGES.get(name, name)
    return f"this command needs `{name}`, which this Python has not; install it with `pip install {package}`"
