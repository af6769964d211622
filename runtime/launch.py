"""Start a program as several ranks on this machine: `python -m runtime.launch -n 2 [options] train.py [arguments]`.

Each rank finds its number and the others' addresses in TF_CONFIG, and prints as itself, line by line. When one fails,
the others are stopped and the exit code is that of the first to fail.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType
from typing import IO, NoReturn

_POLL_SECONDS = 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m runtime.launch", description=__doc__.split("\n\n")[1])
    parser.add_argument("-n", "--ranks", type=int, required=True, help="how many processes")
    parser.add_argument("--grace", type=float, default=5.0, help="seconds that ranks have to end once one has failed")
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for the program")
    options = parser.parse_args(arguments)
    if options.ranks < 1:
        parser.error(f"-n {options.ranks}: a program needs one rank or more")
    if not os.path.isfile(options.program):  # noqa: PTH113
        parser.error(f"there is no program {options.program}: name a Python file")
    return launch([sys.executable, options.program, *options.arguments], options.ranks, options.grace)


def launch(command: Sequence[str], ranks: int, grace_seconds: float = 5.0) -> int:
    """Run `command` once for each rank, and wait for all; return 0, or the exit code of the first that failed."""
    workers = [f"127.0.0.1:{port}" for port in _free_ports(ranks)]
    printing = threading.Lock()
    processes, printers = [], []
    for rank in range(ranks):
        config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}}
        process = subprocess.Popen(
            command,
            env={**os.environ, "TF_CONFIG": json.dumps(config), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_end_with_parent,
        )
        processes.append(process)
        for source, sink in ((process.stdout, sys.stdout.buffer), (process.stderr, sys.stderr.buffer)):
            assert source is not None
            printer = threading.Thread(target=_print_lines, args=(rank, source, sink, printing), daemon=True)
            printer.start()
            printers.append(printer)
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = _first_failure(processes)
    except KeyboardInterrupt:
        code = 130
    except _TerminatedError:
        code = 143
    finally:
        signal.signal(signal.SIGTERM, before)
        _end(processes, grace_seconds)
    for printer in printers:
        printer.join(grace_seconds)
    return code


class _TerminatedError(Exception):
    """The launcher was asked to end."""


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise _TerminatedError


def _end_with_parent() -> None:
    """Let the kernel end this rank when the launcher is killed (prctl's PR_SET_PDEATHSIG, Linux)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _first_failure(processes: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait until all ranks are done, or one has failed, and say which; return its exit code, or 0."""
    codes = [process.poll() for process in processes]
    while None in codes and not any(codes):
        time.sleep(_POLL_SECONDS)
        codes = [process.poll() for process in processes]
    failed = [(rank, code) for rank, code in enumerate(codes) if code]
    if not failed:
        return 0
    rank, code = failed[0]
    rest = f"; the other {codes.count(None)} are stopped" if None in codes else ""
    print(f"runtime.launch: rank {rank} {_ended(code)}{rest}", file=sys.stderr, flush=True)
    return 128 - code if code < 0 else code


def _ended(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _end(processes: Sequence[subprocess.Popen[bytes]], grace_seconds: float) -> None:
    """Ask what still runs to end, and kill it when it does not within the time."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    until = time.monotonic() + grace_seconds
    for process in processes:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _print_lines(rank: int, source: IO[bytes], sink: IO[bytes], printing: threading.Lock) -> None:
    for line in source:
        with printing:
            sink.write(b"[%d] " % rank + line)
            sink.flush()


def _free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on now; a rank whose port another program takes first says so."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


if __name__ == "__main__":
    sys.exit(main())
