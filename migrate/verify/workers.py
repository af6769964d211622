"""Runs each of the compared programs in a process of its own, because frameworks and programs have global state.

Job and result are passed as pickles in a temporary directory. The output of the program goes to a file, whose last
lines are shown if the program fails.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from migrate.scratch import scratch_folder
from migrate.verify import progress

_TAIL = 12
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "GLOG_minloglevel": "3"}
# oneDNN's thread pool in TensorFlow 2.15.1 sometimes frees a closure twice (dnnl::impl::parallel in
# OneDnnThreadPool::parallel_for, AVX-512, batch matmul): about one process in eight crashed. Eigen's kernels do not.
SAFE = {"TF_ENABLE_ONEDNN_OPTS": "0"}

# What a program imports from beside it would leave `__pycache__` there.
CLEAN = {"PYTHONDONTWRITEBYTECODE": "1"}

Job = Mapping[str, Any]
_running: set[subprocess.Popen[bytes]] = set()


def run(module: str, job: Job) -> dict[str, Any]:
    """Call `module.run(job)` in a new process and return what it returns.

    Raises:
        MigrateError: the worker failed; for an unexpected exception, the message has the last lines of its output.
        ModuleNotFoundError: a package that the worker needs is not installed; no program was run.
    """
    with scratch_folder("migrate-verify-") as scratch:
        paths = [scratch / name for name in ("job", "result", "log")]
        paths[0].write_bytes(pickle.dumps(dict(job)))
        with progress.worker(scratch / "progress"):
            code = end_of(module, *paths)
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
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "migrate.verify.worker", module, str(job), str(result)],
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={
                **QUIET,
                **SAFE,
                **CLEAN,
                **os.environ,
                "TMPDIR": str(log.parent),
                progress.FILE: str(log.parent / "progress"),
            },
        ) as process,
    ):
        _running.add(process)
        try:
            return process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)


def run_together(calls: Sequence[tuple[str, Job]]) -> list[dict[str, Any] | MigrateError]:
    """Run several workers in parallel and return their results or errors, in the order of the calls."""
    with ThreadPoolExecutor(len(calls)) as pool:
        found = [pool.submit(copy_context().run, _result, call) for call in calls]
        try:
            return [one.result() for one in found]
        except BaseException:  # of this thread: a signal, which the workers need not have got
            for process in list(_running):
                process.kill()
            raise


def _result(call: tuple[str, Job]) -> dict[str, Any] | MigrateError:
    try:
        return run(*call)
    except MigrateError as error:
        return error


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()[-_TAIL:]
    return "\n    " + "\n    ".join(lines) if lines else ""
