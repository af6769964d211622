"""Forks a worker for each program from a process that has imported TensorFlow: most of what a short one takes.

The process has run nothing, so that no thread of TensorFlow is missing in a fork; where what it imports starts threads,
it ends. It is started by `Server` in another process, gets requests through its standard input, and ends with that:
`python -m migrate.verify.fork_server MODULE...`.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from migrate.verify import worker


class Forked:
    """A process that was forked elsewhere, as far as `subprocess.Popen` is used of one."""

    def __init__(self, reply: int) -> None:
        """Take the pipe on which its number and its exit code are told; wait for the number.

        Raises:
            OSError: it was not forked.
        """
        self._reply = reply
        number = os.read(reply, 8)
        if not number:
            os.close(reply)
            raise OSError("the process that forks has ended")
        self.pid = int.from_bytes(number, "big")

    def wait(self) -> int:
        """Wait for its end and return its exit code, that of SIGKILL where nobody is left to tell."""
        code = os.read(self._reply, 8)
        os.close(self._reply)
        return int.from_bytes(code, "big", signed=True) if code else -signal.SIGKILL


class Server:
    """The process that forks, seen from the one that asks."""

    def __init__(self, modules: tuple[str, ...], environment: Mapping[str, str]) -> None:
        """Start it; it imports the modules before it answers."""
        self._requests, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        nowhere = subprocess.DEVNULL
        command = [sys.executable, "-m", "migrate.verify.fork_server", *modules]
        process = subprocess.Popen(command, stdin=its.fileno(), stdout=nowhere, stderr=nowhere, env=environment)
        its.close()
        atexit.register(_end, process, os.getpid())

    def fork(self, arguments: list[str], environment: Mapping[str, str], folder: Path, output: int) -> Forked:
        """Start a worker with arguments of `worker.main`; the request goes to `folder`, what it prints to `output`.

        Raises:
            OSError: the server has ended, because what it imports is missing or crashed it.
        """
        request = folder / "request"
        request.write_bytes(pickle.dumps((arguments, dict(environment), os.getcwd())))  # noqa: PTH109
        read, write = os.pipe()
        with contextlib.suppress(BrokenPipeError):
            socket.send_fds(self._requests, [os.fsencode(request)], [output, write])
        os.close(write)
        return Forked(read)


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if os.getpid() == owner:  # not in a fork of it
        process.kill()
        process.wait()


def forked(reply: int) -> bool:
    """Fork a process and one that looks after it; return True in the former, False in this one.

    Its number, and once it has ended its exit code, are written to the pipe `reply`, 8 bytes each. It is killed when
    nobody reads there any more, or when this process ends.
    """
    if os.fork():
        return False
    worker.end_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process = os.fork()
    if process == 0:
        worker.end_with_parent()
        return True
    ended, either = os.pidfd_open(process), select.poll()
    either.register(reply, 0)  # says when nobody reads
    either.register(ended, select.POLLIN)
    with contextlib.suppress(BrokenPipeError):
        os.write(reply, process.to_bytes(8, "big"))
    if any(number == reply for number, _ in either.poll()):
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        os.write(reply, code.to_bytes(8, "big", signed=True))
    os._exit(0)


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208


def main(*modules: str) -> None:
    """Import the modules, then serve requests; a fork becomes the worker that was asked for."""
    importlib.import_module("numpy")  # its threads begin again in a fork
    known = _threads()
    for name in modules:
        importlib.import_module(name)
    if _threads() > known:
        return  # a fork lacks them and may wait for them, as one of Paddle does
    os.close(os.pidfd_open(os.getpid()))  # Linux before 5.3 has none: then there is nothing to fork from
    gc.collect()
    gc.freeze()  # a collection would write to the pages that forks share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = socket.socket(fileno=0)
    while True:
        request, files, _, _ = socket.recv_fds(requests, 4096, 2)
        if not request:
            return
        output, reply = files
        if forked(reply):
            os.close(reply)
            break
        os.close(output)
        os.close(reply)
    requests.detach()
    arguments, environment, folder = pickle.loads(Path(os.fsdecode(request)).read_bytes())
    _become(arguments, environment, folder, output)
    worker.main(*arguments)


def _become(arguments: list[str], environment: Mapping[str, str], folder: str, output: int) -> None:
    """Be as a process that `python -m migrate.verify.worker` starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for source, number in ((nowhere, 0), (output, 1), (output, 2)):
        os.dup2(source, number)
    os.close(output)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [worker.__file__, *arguments]
    if not getattr(sys.flags, "safe_path", False):  # Python 3.10 has no such flag
        sys.path[0] = folder
    tempfile.tempdir = None


if __name__ == "__main__":
    main(*sys.argv[1:])
