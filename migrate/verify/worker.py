"""The process that runs one of the two programs: `python -m migrate.verify.worker MODULE JOB RESULT`."""

from __future__ import annotations

import ctypes
import importlib
import pickle
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from rewriter.graph.reasons import reason_of

#: Of `prctl`: the signal that a process gets when the one that started it ends.
_SET_SIGNAL_AT_END_OF_PARENT = 1


def end_with_parent() -> None:
    """Let the kernel end this process with the one that started it, also where that is killed; Linux alone can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_SIGNAL_AT_END_OF_PARENT, signal.SIGKILL)


def main(module: str, job_path: str, result_path: str) -> None:
    """Run the pickled job and write its result or error."""
    job = pickle.loads(Path(job_path).read_bytes())
    run = _loaded(module)
    try:
        result = {"missing": run.name} if isinstance(run, ModuleNotFoundError) else run(job)
    except MigrateError as error:
        code = error.__cause__.code if isinstance(error.__cause__, SystemExit) else ""
        result = {"error": str(error), "unexpected": isinstance(code, int)}  # what the program said of it is printed
    except Exception as error:
        traceback.print_exc()
        what = f"{type(error).__name__}: {reason_of(error)}"
        result = {"error": f"{job['path']}: running it fails with {what}", "unexpected": True}
    Path(result_path).write_bytes(pickle.dumps(result))


def _loaded(module: str) -> Callable[[Any], dict[str, Any]] | ModuleNotFoundError:
    """Return the `run` function of a worker module, or the error for a package that is not installed."""
    try:
        run: Callable[[Any], dict[str, Any]] = importlib.import_module(module).run
    except ModuleNotFoundError as error:
        return error
    return run


if __name__ == "__main__":
    end_with_parent()
    main(*sys.argv[1:])
