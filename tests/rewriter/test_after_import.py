"""A function is called once a module has been imported, or never if nobody waits any more."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from rewriter.after_import import after_import


def test_it_is_called_once_the_import_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("awaited_one", "awaited_two"):
        (tmp_path / f"{name}.py").write_text("value = 1\nvalue = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    before, heard = list(sys.meta_path), list[int]()
    after_import("awaited_one", lambda module: heard.append(module.value))
    after_import("awaited_two", lambda module: heard.append(3))()
    importlib.import_module("awaited_two")
    assert heard == []
    importlib.import_module("awaited_one")
    after_import("awaited_one", lambda module: heard.append(module.value + 2))
    assert heard == [2, 4] and sys.meta_path == before
