"""The process that has imported TensorFlow and forks: `server.py PROGRAM INTERPRETER`; it ends with its standard input.

A fork becomes what it was asked to be: its output, environment, directory and process group are those of the client,
and it ends as the interpreter ends. Where the client is gone, its process is killed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import types
from pathlib import Path
from typing import Any

from migrate.verify.fork_server import forked

_PRELOADED = (
    "runtime.optimizers",
    "migrate.cli.convert",
    "migrate.source.tensorflow.base.rule_registry",
    "migrate.source.driver.run",
    "migrate.verify.worker",
    *(f"migrate.verify.{name}" for name in ("tensorflow.original", "tensorflow.converted", "keras.side")),
)
_SERVER = os.fspath(Path(__file__))


def main(program: Path, interpreter: str) -> None:
    """Import TensorFlow, then fork a process for each client."""
    program.with_name("interpreter").write_text(interpreter)
    import tensorflow as tf

    for name in _PRELOADED:
        importlib.import_module(name)
    if tf.__version__.startswith("2.15"):
        tf.estimator, tf.keras.layers  # noqa: B018 - both are imported when they are first named
    if "RUN_GRAPHS_AS_BUILT" in os.environ:
        from tests.support.unoptimized import run_graphs_as_built

        run_graphs_as_built()
    gc.collect()
    gc.freeze()  # a collection would write to the pages that forks share
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(program.with_name("socket")))
    listening.listen(64)
    asked = _serve(listening)
    if asked is not None:
        _become(program, *asked)


def _serve(listening: socket.socket) -> tuple[list[str], dict[str, str], str] | None:
    """Return what a fork is to be, in the fork; None where the standard input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while listening.fileno() in select.select([0, listening.fileno()], [], [])[0]:
        connection = listening.accept()[0]
        arguments, environment, directory, group, files = _received(connection)
        if forked(connection.fileno()):
            listening.close()
            connection.close()
            _adopt(files, group)
            return arguments, environment, directory
        connection.close()
        for file in files:
            os.close(file)
    return None


def _received(connection: socket.socket) -> tuple[list[str], dict[str, str], str, int, list[int]]:
    size, files, _, _ = socket.recv_fds(connection, 8, 3)
    text = b""
    while len(text) < int.from_bytes(size, "big"):
        text += connection.recv(1 << 20)
    arguments, environment, directory, group = json.loads(text)
    return arguments, environment, directory, group, files


def _adopt(files: list[int], group: int) -> None:
    with contextlib.suppress(OSError):  # of another session
        os.setpgid(0, group)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)


def _become(program: Path, arguments: list[str], environment: dict[str, str], directory: str) -> None:
    """Be the process that was asked for; its exit code is that of the interpreter."""
    import numpy as np

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    np.random.seed()  # processes do not draw the same numbers, as forks would
    sys.executable = str(program)
    ours = [str(Path(_SERVER).parent), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path[:] = [one for one in sys.path if one not in ours]
    sys.path[:0] = ours[1:]
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    try:
        _run(module, arguments)
    except SystemExit:
        raise
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException as error:
        sys.excepthook(type(error), error.with_traceback(_theirs(error.__traceback__)), error.__traceback__)
        sys.exit(1)


def _run(module: types.ModuleType, arguments: list[str]) -> None:
    first, rest = arguments[0], arguments[1:]
    if first == "-m":
        sys.argv[:] = arguments[1:]
        sys.path.insert(0, "")
        runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]
        return
    if first == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        sys.path.insert(0, "")
        code = compile(rest[0], "<string>", "exec", dont_inherit=True)
    else:
        sys.argv[:] = arguments
        sys.path.insert(0, str(Path(first).resolve().parent))
        module.__file__ = first
        code = compile(Path(first).read_bytes(), first, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _theirs(traceback: Any) -> Any:
    """Return the part of a traceback that the interpreter would print."""
    while traceback and traceback.tb_next and traceback.tb_frame.f_code.co_filename in (_SERVER, runpy.__file__):
        traceback = traceback.tb_next
    return traceback


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
