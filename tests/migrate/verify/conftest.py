"""Workers of TensorFlow programs are forked; tests of the command, and Paddle's, have those that users have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from migrate.verify import worker, workers
from tests.support import forking

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
    return forking.exit_code(worker.main, module, str(job), str(result), out=log, errors=log, environment=environment)
