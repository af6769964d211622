"""Start a program as several ranks on this machine: `python -m runtime.launch -n 2 [options] train.py [arguments]`.

Each rank gets its number and the others' addresses in TF_CONFIG, or with Horovod in Horovod's variables. Its output is
printed line by line with its number in front. When a rank fails, the others are stopped, and the exit code is that of
the first one to fail. The program may be a module: `-m runtime.compat.mx_rec train.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import IO, NoReturn

_POLL_SECONDS = 0.05
#: TensorFlow binds its servers to 0.0.0.0, whatever address is configured; Horovod's use the loopback interface.
_OPEN = (
    "TensorFlow's servers of the ranks listen on all network interfaces and answer any client: restrict access with a "
    "firewall, or leave --engine out, which starts none"
)
_OTHERS = ("TF_CONFIG", "HOROVOD_RANK", "RECMIGRATE_JOB")  # these would describe the ranks of another job


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m runtime.launch", description=__doc__.split("\n\n")[1])
    parser.add_argument("-n", "--ranks", type=int, required=True, help="number of processes")
    parser.add_argument(
        "--engine",
        choices=("local", "collectives", "horovod"),
        default="local",
        help="what the ranks communicate by: memory that they share, TensorFlow's collectives, or Horovod",
    )
    parser.add_argument("--grace", type=float, default=5.0, help="seconds that ranks get to end after one has failed")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module, as in `python -m`")
    parser.add_argument("program", help="a Python file, or with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    options = parser.parse_args(arguments)
    if options.ranks < 1:
        parser.error(f"-n {options.ranks}: there must be at least one rank")
    if not options.module and not os.path.isfile(options.program):  # noqa: PTH113
        parser.error(f"there is no program {options.program}: name a Python file")
    command = [sys.executable, *(["-m"] if options.module else []), options.program, *options.arguments]
    try:
        return launch(command, options.ranks, options.grace, options.engine)
    except ImportError as error:
        parser.error(
            f"--engine horovod: Horovod cannot be imported ({error}): build it with `make horovod`, or as described "
            "in docs/ranks.md"
        )


def launch(command: Sequence[str], ranks: int, grace_seconds: float = 5.0, engine: str = "local") -> int:
    """Run `command` once for each rank and wait for all; return 0, or the exit code of the first one to fail.

    The engine is "local", "collectives", "horovod", or "alone", which connects nobody.

    Raises:
        ImportError: the engine is "horovod", and Horovod is not installed.
    """
    made: dict[str, Callable[[int], Sequence[Mapping[str, str]]]] = {
        "horovod": _of_horovod,
        "local": lambda ranks: _of_tensorflow(ranks, "local"),
        "collectives": lambda ranks: _of_tensorflow(ranks, "collectives"),
        "alone": lambda ranks: [{}] * ranks,
    }
    variables = made[engine](ranks)
    if engine == "collectives" and ranks > 1:
        print(f"runtime.launch: {_OPEN}", file=sys.stderr, flush=True)
    inherited = {name: value for name, value in os.environ.items() if name not in _OTHERS}
    printing = threading.Lock()
    processes, printers = [], []
    for rank, own in enumerate(variables):
        process = subprocess.Popen(
            command,
            # A common hash seed: ranks that iterate over a set of names get the tables in the same order.
            env={"PYTHONHASHSEED": "0", **inherited, **own, "PYTHONUNBUFFERED": "1"},
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


def _of_tensorflow(ranks: int, engine: str) -> list[dict[str, str]]:
    """Return the environment variables that tell each rank its number, as in TensorFlow's multi-worker training."""
    workers = [f"127.0.0.1:{port}" for port in _free_ports(ranks)]
    common = {"RECMIGRATE_RANKS": engine, "RECMIGRATE_JOB": secrets.token_hex(8)}  # another job may get these ports
    tasks = ({"type": "worker", "index": rank} for rank in range(ranks))
    return [{"TF_CONFIG": json.dumps({"cluster": {"worker": workers}, "task": task}), **common} for task in tasks]


def _of_horovod(ranks: int) -> list[Mapping[str, str]]:
    """Return Horovod's variables for each rank; their rendezvous server runs in this process."""
    from horovod.runner import gloo_run
    from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
    from horovod.runner.http.http_server import RendezvousServer

    slots = get_host_assignments(parse_hosts(f"localhost:{ranks}"), ranks)
    server = RendezvousServer()
    with _on_loopback():
        port = server.start()
    common = gloo_run.create_run_env_vars("127.0.0.1", ["lo"], port)
    server.init(slots)
    return [
        {name: str(value) for name, value in {**common, **gloo_run.create_slot_env_vars(slot)}.items()}
        for slot in slots
    ]


@contextlib.contextmanager
def _on_loopback() -> Iterator[None]:
    """Make Horovod's server listen on 127.0.0.1 instead of all interfaces."""
    from horovod.runner.http import http_server

    before = http_server.find_port
    http_server.find_port = lambda server: before(lambda address: server(("127.0.0.1", address[1])))
    try:
        yield
    finally:
        http_server.find_port = before


class _TerminatedError(Exception):
    """The launcher got a signal to end."""


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise _TerminatedError


def _end_with_parent() -> None:
    """Let the kernel end this rank if the launcher is killed (prctl's PR_SET_PDEATHSIG, Linux)."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _first_failure(processes: Sequence[subprocess.Popen[bytes]]) -> int:
    """Wait until all ranks have ended or one has failed, and print which; return its exit code, or 0."""
    codes = [process.poll() for process in processes]
    while None in codes and not any(codes):
        time.sleep(_POLL_SECONDS)
        codes = [process.poll() for process in processes]
    failed = [(rank, code) for rank, code in enumerate(codes) if code]
    if not failed:
        return 0
    # Report a killed rank first, because it is why others fail.
    rank, code = min(failed, key=lambda one: one[1] > 0)
    rest = f"; the other {codes.count(None)} are stopped" if None in codes else ""
    print(f"runtime.launch: rank {rank} {_ended(code)}{rest}", file=sys.stderr, flush=True)
    for other, process in enumerate(processes):
        if codes[other] is None and _suspended(process.pid):
            print(f"runtime.launch: rank {other} was suspended, as by SIGSTOP", file=sys.stderr, flush=True)
    return 128 - code if code < 0 else code


def _suspended(process: int) -> bool:
    """Whether a process is stopped by a signal; on Linux, its state follows its name, which is in parentheses."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] in "Tt"
    except OSError:
        return False


def _ended(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _end(processes: Sequence[subprocess.Popen[bytes]], grace_seconds: float) -> None:
    """Ask the remaining processes to end, and kill those that are still running after the grace period."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
            process.send_signal(signal.SIGCONT)  # a suspended process could not react
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
    """Return ports that are free now; if another program takes one first, its rank reports that."""
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
