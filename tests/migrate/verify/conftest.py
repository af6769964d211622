"""Workers of TensorFlow programs are forked from a process that has imported it: the import is most of a worker's time.

The commands' tests and Paddle's have the processes that `migrate verify` starts.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

import pytest

from migrate.verify import worker, workers

_FORKING = multiprocessing.get_context("forkserver")
_IN_TENSORFLOW = "migrate.verify.tensorflow", "migrate.verify.keras"


_own_end_of = workers.end_of


@pytest.fixture(autouse=True, scope="module")
def _forked() -> Iterator[None]:
    """Fork the workers, those of a module's fixtures as well."""
    with mock.patch.object(workers, "end_of", forked_end_of):
        yield


@pytest.fixture(autouse=True)
def _as_the_command(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start the processes that users have where the test is of the command."""
    if "command" in request.node.name:
        monkeypatch.setattr(workers, "end_of", _own_end_of)


def forked_end_of(module: str, job: Path, result: Path, log: Path) -> int:
    """Do what `workers.end_of` does."""
    if not module.startswith(_IN_TENSORFLOW):
        return _own_end_of(module, job, result, log)
    environment = {**workers.QUIET, **workers.SAFE, **os.environ}
    process = _FORKING.Process(target=_work, args=(module, job, result, log, environment, Path.cwd()))
    with mock.patch.dict(os.environ, environment):  # the process that is forked has it from its start
        process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _work(module: str, job: Path, result: Path, log: Path, environment: Mapping[str, str], directory: Path) -> None:
    """Be the worker."""
    import numpy as np

    output = os.open(log, os.O_WRONLY | os.O_CREAT, 0o600)
    for number in (1, 2):
        os.dup2(output, number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    sys.argv[:] = ["worker", module, str(job), str(result)]
    np.random.seed()  # processes do not draw the same numbers, as forks would
    worker.main(module, str(job), str(result))


_FORKING.set_forkserver_preload(
    [
        "runtime",
        "migrate.verify.worker",
        *(f"migrate.verify.{name}" for name in ("tensorflow.original", "tensorflow.converted", "keras.side")),
    ]
)
