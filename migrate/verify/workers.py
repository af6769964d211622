"""Runs each of the compared programs in a process of its own, because frameworks and programs have global state.

Job and result are passed as pickles in a temporary directory. The output of the program goes to a file, whose last
lines are shown if the program fails. Those of TensorFlow are forked from one that has imported it, where that works.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from pathlib import Path
from textwrap import shorten
from typing import Any

from migrate.errors import MigrateError
from migrate.scratch import scratch_folder
from migrate.verify.fork_server import Forked, Server
from migrate.verify.recording import Recording

_TAIL = 12
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "GLOG_minloglevel": "3"}
# oneDNN's thread pool in TensorFlow 2.15.1 sometimes frees a closure twice (dnnl::impl::parallel in
# OneDnnThreadPool::parallel_for, AVX-512, batch matmul): about one process in eight crashed. Eigen's kernels do not.
SAFE = {"TF_ENABLE_ONEDNN_OPTS": "0"}

# What a program imports from beside it would leave `__pycache__` there.
CLEAN = {"PYTHONDONTWRITEBYTECODE": "1"}

#: What is imported before workers are forked. Importing Paddle starts threads, so that a fork of it may wait for ever.
_MODULES = tuple(f"migrate.verify.{name}" for name in ("tensorflow.original", "tensorflow.converted", "keras.side"))

Job = Mapping[str, Any]
_running: set[int] = set()
_servers: list[Server | None] = []
_starting = threading.Lock()


def run(module: str, job: Job) -> dict[str, Any]:
    """Call `module.run(job)` in a new process and return what it returns.

    Raises:
        MigrateError: the worker failed; for an unexpected exception, the message has the last lines of its output.
        ModuleNotFoundError: a package that the worker needs is not installed; no program was run.
    """
    with scratch_folder("migrate-verify-") as scratch:
        paths = [scratch / name for name in ("job", "result", "log")]
        paths[0].write_bytes(pickle.dumps(dict(job)))
        wide = "wide" in job or job.get("dtype") == "float64"
        try:
            begin(f"running {job['path']}{' in float64' if wide else job.get('how', '')}")
            code = end_of(module, *paths)
        finally:
            _watched.get().ended += 1
        if not paths[1].exists():
            raise MigrateError(f"{job['path']}: the process that ran it ended with exit code {code}{_tail(paths[2])}")
        result: dict[str, Any] = pickle.loads(paths[1].read_bytes())
        if "missing" in result:
            raise ModuleNotFoundError(f"No module named {result['missing']!r}", name=result["missing"])
        if "error" in result:
            raise MigrateError(result["error"] + (_tail(paths[2]) if result["unexpected"] else ""))
        return result


def end_of(module: str, job: Path, result: Path, log: Path) -> int:
    """Run a worker process, with its output in `log` and temporary files beside it, and return its exit code."""
    environment = {**_environment(), "TMPDIR": str(log.parent)}
    with log.open("wb") as output:
        process = _started([module, str(job), str(result)], environment, log.parent, output.fileno())
        _running.add(process.pid)
        try:
            return process.wait()
        except BaseException:
            _kill(process.pid)
            raise
        finally:
            _running.discard(process.pid)


def prepare() -> Server | None:
    """Start the process that workers of TensorFlow are forked from, which imports it; None where it has ended."""
    with _starting:
        if not _servers:
            # `prctl`, by which forks end with their parent, is Linux'.
            _servers.append(Server(_MODULES, _environment()) if sys.platform == "linux" else None)
        return _servers[0]


def _environment() -> dict[str, str]:
    return {**QUIET, **SAFE, **CLEAN, **os.environ}


def _started(
    arguments: list[str], environment: Mapping[str, str], folder: Path, output: int
) -> Forked | subprocess.Popen[bytes]:
    """Fork a worker, or start one where there is nothing to fork it from."""
    module = arguments[0]
    server = None if ".paddle." in module and not module.endswith(".converted") else prepare()
    if server is not None:
        try:
            return server.fork(arguments, environment, folder, output)
        except OSError:
            _servers[0] = None
    return subprocess.Popen(
        [sys.executable, "-m", "migrate.verify.worker", *arguments],
        stdout=output,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env=environment,
    )


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def run_together(calls: Sequence[tuple[str, Job]]) -> list[dict[str, Any] | MigrateError]:
    """Run several workers in parallel and return their results or errors, in the order of the calls."""
    with ThreadPoolExecutor(len(calls)) as pool:
        futures = [pool.submit(copy_context().run, _result, call) for call in calls]
        try:
            return [one.result() for one in futures]
        except BaseException:  # of this thread: a signal, which the workers need not have got
            for process in list(_running):
                _kill(process)
            raise


def run_all(calls: Sequence[tuple[str, Job]]) -> list[dict[str, Any]]:
    """Run several workers in parallel and return their results; raises the `MigrateError` of the first that failed."""
    results = run_together(calls)
    for result in results:
        if isinstance(result, MigrateError):
            raise result
    return [one for one in results if not isinstance(one, MigrateError)]


def with_reference(wide: dict[str, Any] | MigrateError) -> tuple[Recording | None, tuple[str, ...]]:
    """Return the original's recording in float64 and no note; where that failed, None and why."""
    if isinstance(wide, MigrateError):
        return None, (no_reference(wide),)
    recording: Recording = wide["recording"]
    return recording, ()


def no_reference(why: object) -> str:
    """Return the note on an original that fails in float64, with the beginning of what it says, in whole words."""
    return f"no float64 reference, because the original fails in float64: {shorten(str(why), 300, placeholder=' …')}"


def _result(call: tuple[str, Job]) -> dict[str, Any] | MigrateError:
    try:
        return run(*call)
    except MigrateError as error:
        return error


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()[-_TAIL:]
    return "\n    " + "\n    ".join(lines) if lines else ""


class Progress:
    """What a proof does, and the share of it that is done; each worker counts the same."""

    def __init__(self, tell: Callable[[str], object] = lambda _: None) -> None:
        """Take what is called with what begins, such as `running model.py`."""
        self.tell, self.doing = tell, ""
        self.ended, self.expected = 0, 4  # as of most proofs, while it is not known

    def share(self) -> float:
        """Return a number from 0 to 1."""
        return self.ended / max(self.expected, self.ended, 1)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Count the workers that are run inside."""
        token = _watched.set(self)
        try:
            yield
        finally:
            _watched.reset(token)


_unwatched = Progress()
_watched: ContextVar[Progress] = ContextVar("watched", default=_unwatched)


def begin(doing: str) -> None:
    """Say what a proof does from now on."""
    watching = _watched.get()
    if doing != watching.doing:
        watching.doing = doing
        watching.tell(doing)


def expect(workers: int) -> None:
    """Take as known how many workers will be run from now on."""
    watching = _watched.get()
    watching.expected = watching.ended + workers
