"""Processes that are forked from one that has imported TensorFlow: the import is most of what a short program takes.

`python()` is a program that does what `sys.executable` does with `-m MODULE`, `-c CODE` or a file, so that a test which
wants a process of its own, or several ranks, says `python()` where it would say `sys.executable`. Signals, pipes, exit
codes and process groups are as ever. Tests of how a program is started, or of what it imports, use `sys.executable`.

`server.py` is the process that has imported TensorFlow, one for each that runs tests; `client.py` is what is started.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

_HERE = Path(__file__).parent


@functools.cache
def python() -> str:
    """Return the path of the program; the first call starts the process that it forks from."""
    folder = Path(tempfile.mkdtemp(prefix="forking-"))
    program = folder / "python"
    # No module is imported but those of the interpreter: it starts in some 20 milliseconds.
    program.write_text(f"#!{sys.executable} -IS\n{(_HERE / 'client.py').read_text()}")
    program.chmod(0o700)
    # It ends when the pipe that it reads is closed, so also where this process is killed.
    command = [sys.executable, _HERE / "server.py", program, sys.executable]
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    server = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)

    def end() -> None:
        server.communicate()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return str(program)


def run(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Do what `python ARGUMENTS` does; return it with its output."""
    command = [python(), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=os.environ if env is None else env)
