"""Ends the command on an error that it cannot handle: one sentence on stderr, and exit code 2."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from migrate.errors import MigrateError

FAILED = 2
#: Packages of this distribution: if one of their modules is missing, the installation itself is broken.
OWN = ("migrate", "rewriter", "runtime")
#: Module name -> package name, where the two differ.
PACKAGES = {"paddle": "paddlepaddle", "yaml": "PyYAML", "google": "protobuf"}


def end(error: MigrateError | OSError | ModuleNotFoundError) -> None:
    """Print the error and end the process, even if stderr cannot be written."""
    with contextlib.suppress(OSError):
        click.echo(f"migrate: {sentence(error)}", err=True)
    # Buffered output cannot be written either; without this, Python would try at exit and print a traceback.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(FAILED)


def sentence(error: MigrateError | OSError | ModuleNotFoundError) -> str:
    """Return the message for an exception: the thing, what is wrong with it, and the remedy.

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
        return f"the output cannot be written ({what}); free some space or redirect the output"
    return f"{os.fsdecode(error.filename)}: {what}; check that it exists and that its permissions are right"


def _of_module(error: ModuleNotFoundError) -> str:
    name = (error.name or "").partition(".")[0]
    if not name or name in OWN:
        raise error
    package = PACKAGES.get(name, name)
    return f"this command needs the module `{name}`, which is not installed; run `pip install {package}`"
