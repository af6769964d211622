"""Processes that are forked from one that has imported TensorFlow: the import is most of what a short program takes.

Only where a process of its own is wanted, whichever it is. Tests of how a program is started, and of ranks, start it.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    [
        "runtime",
        "migrate.verify.worker",
        *(f"migrate.verify.{name}" for name in ("tensorflow.original", "tensorflow.converted", "keras.side")),
    ]
)
#: The environment is the whole process', and threads may start programs at once.
_STARTING = threading.Lock()


def exit_code(
    call: Callable[..., object],
    *arguments: str,
    out: Path,
    errors: Path,
    environment: Mapping[str, str] = os.environ,
    directory: Path | None = None,
) -> int:
    """Call a function of a module in a new process, with its output in files; return the process' exit code."""
    into = (str(out), str(errors))
    given = dict(environment)
    process = _FORKING.Process(target=_process, args=(call, arguments, into, given, directory or Path.cwd()))
    with _STARTING, mock.patch.dict(os.environ, given):  # the process that is forked has it from its start
        process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def run(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Do what `python ARGUMENTS` does, a path or `-m` and a module first; return it with its output."""
    given = [str(one) for one in arguments]
    with tempfile.TemporaryDirectory() as folder:
        out, errors = Path(folder) / "out", Path(folder) / "errors"
        code = exit_code(_program, *given, out=out, errors=errors, environment=env, directory=cwd)
        return subprocess.CompletedProcess(given, code, out.read_text(), errors.read_text())


def _process(
    call: Callable[..., object],
    arguments: tuple[str, ...],
    into: tuple[str, str],
    environment: dict[str, str],
    directory: Path,
) -> None:
    import numpy as np

    for number, path in enumerate(into, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    np.random.seed()  # processes do not draw the same numbers, as forks would
    call(*arguments)


def _program(*arguments: str) -> Any:
    if arguments[0] == "-m":
        sys.argv[:] = arguments[1:]
        sys.path.insert(0, "")
        return runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    sys.argv[:] = arguments
    sys.path.insert(0, str(Path(arguments[0]).parent))
    return runpy.run_path(arguments[0], run_name="__main__")
