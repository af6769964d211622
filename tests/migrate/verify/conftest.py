"""The processes that fork workers are forks of the tests' own; `make demo` starts those that users have."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from tests.support import forking


@pytest.fixture(autouse=True, scope="module")
def _forked() -> Iterator[None]:
    """Fork what forks the workers, those of a module's fixtures as well."""
    with mock.patch.object(sys, "executable", forking.python()):
        yield


@pytest.fixture(autouse=True)
def _own_imports() -> Iterator[None]:
    """Forget the programs that a test has imported, and where it ran."""
    here, path, names = Path.cwd(), list(sys.path), ("net", "dygraph_model", "own_reader")
    modules = {name: sys.modules[name] for name in names if name in sys.modules}
    yield
    os.chdir(here)
    sys.path[:] = path
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(modules)
