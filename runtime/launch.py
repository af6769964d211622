"""Start a program as several ranks on this machine: `python -m runtime.launch -n 2 [options] train.py [arguments]`.

Each rank gets its number and the others' addresses in TF_CONFIG, or with Horovod in Horovod's variables. Its output is
printed line by line with its number in front. When a rank fails, the others are stopped, and the exit code is that of
the first one to fail. The program may be a module: `-m runtime.compat.mx_rec train.py`.

With `--ps 2 --workers 2 [--chief] [--evaluator]` the processes are the tasks of a cluster; its parameter servers are
stopped when all others have ended. In arguments, `{ps_hosts}`, `{worker_hosts}`, `{job_name}` and `{task_index}` stand
for what programs without TF_CONFIG are told by flags. `--restarts N` starts tasks that fail again, N times in all.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
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
from dataclasses import dataclass, field
from types import FrameType
from typing import IO, NoReturn

_POLL_SECONDS = 0.05
#: How often tasks are asked whether a signal has stopped them: others wait for such a task, and seldom say so.
_SUSPENDED_SECONDS = 2.0
#: TensorFlow binds its servers to 0.0.0.0, whatever address is configured; Horovod's use the loopback interface.
_OPEN = (
    "TensorFlow's servers of the {} listen on all network interfaces and answer any client: restrict access with a "
    "firewall"
)
_CLOSED = "tasks that import runtime close the ports of their TensorFlow servers to other machines; others stay open"
_OTHERS = ("TF_CONFIG", "HOROVOD_RANK", "RECMIGRATE_JOB")  # these would describe the ranks of another job


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m runtime.launch", description=__doc__.split("\n\n")[1])
    parser.add_argument("-n", "--ranks", type=int, help="number of processes that are ranks")
    parser.add_argument("--ps", type=int, help="number of parameter servers of a cluster")
    parser.add_argument("--workers", type=int, default=1, help="number of workers of a cluster, without the chief")
    parser.add_argument("--chief", action="store_true", help="one more task trains, the chief, as Estimators want it")
    parser.add_argument("--evaluator", action="store_true", help="one more task evaluates")
    parser.add_argument("--restarts", type=int, default=0, help="how often tasks of a cluster that fail start again")
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
    if (options.ranks is None) == (options.ps is None):
        parser.error("give -n, a number of ranks, or --ps, a number of parameter servers")
    if options.ranks is not None and options.ranks < 1:
        parser.error(f"-n {options.ranks}: there must be at least one rank")
    if options.ps is not None and (options.ps < 1 or options.workers + options.chief < 1):
        parser.error(f"--ps {options.ps} --workers {options.workers}: there must be a server, and a worker or --chief")
    if not options.module and not os.path.isfile(options.program):  # noqa: PTH113
        parser.error(f"there is no program {options.program}: name a Python file")
    command = [sys.executable, *(["-m"] if options.module else []), options.program, *options.arguments]
    try:
        if options.ps is not None:
            tasks = cluster_tasks(command, options.ps, options.workers, options.chief, options.evaluator)
            return run(tasks, options.grace, options.restarts)
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
    engines: dict[str, Callable[[int], Sequence[Mapping[str, str]]]] = {
        "horovod": _of_horovod,
        "local": lambda ranks: _of_tensorflow(ranks, "local"),
        "collectives": lambda ranks: _of_tensorflow(ranks, "collectives"),
        "alone": lambda ranks: [{}] * ranks,
    }
    variables = engines[engine](ranks)
    if engine == "collectives" and ranks > 1:
        print(f"runtime.launch: {_OPEN.format('ranks')}, or leave --engine out, which starts none", file=sys.stderr)
    return run([Task(f"rank {rank}", str(rank), command, own) for rank, own in enumerate(variables)], grace_seconds)


@dataclass
class Task:
    """A process to be started: what messages call it, what stands before its lines, its command and its variables."""

    name: str
    mark: str
    command: Sequence[str]
    variables: Mapping[str, str]
    #: Whether it runs until it is stopped, as a parameter server does.
    serves: bool = False
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self, printing: threading.Lock) -> list[threading.Thread]:
        """Start the process; return the threads that print what it prints."""
        inherited = {name: value for name, value in os.environ.items() if name not in _OTHERS}
        self.process = subprocess.Popen(
            self.command,
            # A common hash seed: ranks that iterate over a set of names get the tables in the same order.
            env={"PYTHONHASHSEED": "0", **inherited, **self.variables, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=_end_with_parent,
        )
        printers = []
        for source, sink in ((self.process.stdout, sys.stdout.buffer), (self.process.stderr, sys.stderr.buffer)):
            assert source is not None
            printers.append(
                threading.Thread(target=_print_lines, args=(self.mark, source, sink, printing), daemon=True)
            )
            printers[-1].start()
        return printers


def run(tasks: Sequence[Task], grace_seconds: float = 5.0, restarts: int = 0) -> int:
    """Run all tasks until those that serve nobody have ended; return 0, or the exit code of the first one to fail.

    A task that fails starts again, up to `restarts` times in all.
    """
    printing = threading.Lock()
    printers = [printer for task in tasks for printer in task.start(printing)]
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        code = _first_failure(tasks, restarts > 0)
        while code and restarts:
            restarts -= 1
            for task in tasks:
                if task.process.poll():
                    print(f"runtime.launch: {task.name} is started again", file=sys.stderr, flush=True)
                    printers += task.start(printing)
            code = _first_failure(tasks, restarts > 0)
    except KeyboardInterrupt:
        code = 130
    except _TerminatedError:
        code = 143
    finally:
        signal.signal(signal.SIGTERM, before)
        _end([task.process for task in tasks], grace_seconds)
    for printer in printers:
        printer.join(grace_seconds)
    return code


def cluster_tasks(
    command: Sequence[str], servers: int, workers: int, chief: bool = False, evaluator: bool = False
) -> list[Task]:
    """Return the tasks of a cluster on this machine, the servers first; each knows all by TF_CONFIG."""
    print(f"runtime.launch: {_CLOSED}", file=sys.stderr, flush=True)
    sizes = {"ps": servers, "chief": int(chief), "worker": workers}
    ports = iter(_free_ports(sum(sizes.values())))
    jobs = {job: [f"127.0.0.1:{port}" for port in itertools.islice(ports, size)] for job, size in sizes.items() if size}
    every = [(job, index) for job, addresses in jobs.items() for index in range(len(addresses))]
    tasks = []
    for job, index in [*every, *([("evaluator", 0)] if evaluator else [])]:
        environments = {
            "{ps_hosts}": ",".join(jobs["ps"]),
            "{worker_hosts}": ",".join([*jobs.get("chief", []), *jobs.get("worker", [])]),
            "{job_name}": job,
            "{task_index}": str(index),
        }
        own = list(command)
        for name, value in environments.items():
            own = [part.replace(name, value) for part in own]
        variables = {"TF_CONFIG": json.dumps({"cluster": jobs, "task": {"type": job, "index": index}})}
        tasks.append(Task(f"{job} {index}", f"{job}:{index}", own, variables, serves=job == "ps"))
    return tasks


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


def _first_failure(tasks: Sequence[Task], goes_on: bool) -> int:
    """Wait until all tasks have ended or one has failed, and print which; return its exit code, or 0."""
    codes = [task.process.poll() for task in tasks]
    waited = [number for number, task in enumerate(tasks) if not task.serves]
    looked, suspended = time.monotonic(), set[str]()
    while any(codes[number] is None for number in waited) and not any(codes):
        time.sleep(_POLL_SECONDS)
        codes = [task.process.poll() for task in tasks]
        if time.monotonic() - looked > _SUSPENDED_SECONDS:
            looked, suspended = time.monotonic(), _named_suspended(tasks, suspended)
    failed = [(number, code) for number, code in enumerate(codes) if code]
    if not failed:
        return 0
    # Report a killed task first, because it is why others fail.
    number, code = min(failed, key=lambda failure: failure[1] > 0)
    rest = f"; the other {codes.count(None)} are stopped" if None in codes and not goes_on else ""
    print(f"runtime.launch: {tasks[number].name} {_ended(code)}{rest}", file=sys.stderr, flush=True)
    _named_suspended(tasks, suspended)
    return 128 - code if code < 0 else code


def _named_suspended(tasks: Sequence[Task], known: set[str]) -> set[str]:
    """Return the names of the tasks that a signal has stopped, and print those that are not known yet."""
    suspended = {
        task.name: task.process.pid for task in tasks if task.process.poll() is None and _suspended(task.process.pid)
    }
    for name, process in suspended.items():
        if name not in known:
            print(
                f"runtime.launch: {name} was suspended, as by SIGSTOP, and others wait for it: `kill -CONT {process}` "
                "lets it go on",
                file=sys.stderr,
                flush=True,
            )
    return set(suspended)


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


def _print_lines(mark: str, source: IO[bytes], sink: IO[bytes], printing: threading.Lock) -> None:
    for line in source:
        with printing:
            sink.write(b"[%s] " % mark.encode() + line)
            sink.flush()


def _free_ports(count: int) -> list[int]:
    """Return ports that are free now; if another program takes one first, its rank reports that."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for opened in sockets:
            opened.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for opened in sockets:
            opened.close()


if __name__ == "__main__":
    sys.exit(main())
