"""Keeps the command's cache of results and temporary files out of the folders of whoever runs the tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest


@pytest.fixture(autouse=True, scope="session")
def _own_temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Workers that tests call in their own process work in a folder of the tests, as others do in one of their own."""
    with mock.patch.object(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary"))):
        yield


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory for every test; the processes that it starts inherit it."""
    directory = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(directory))
    return directory / "recmigrate"
