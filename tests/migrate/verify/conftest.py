"""The processes that fork workers are forks of the tests' own; `make demo` starts those that users have."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from unittest import mock

import pytest

from tests.support import forking


@pytest.fixture(autouse=True, scope="module")
def _forked() -> Iterator[None]:
    """Fork what forks the workers, those of a module's fixtures as well."""
    with mock.patch.object(sys, "executable", forking.python()):
        yield
