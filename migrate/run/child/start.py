"""Waits until this process imports TensorFlow, then enters it; called by the `sitecustomize` of a run or a trial."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

#: The environment variable that has the settings, as JSON; a Python process without it is left alone.
VARIABLE = "RECMIGRATE_RUN"
#: The name of this package in such a process.
NAME = "_recmigrate_run"


def start() -> None:
    """Prepare this process, if the environment says so."""
    text = os.environ.get(VARIABLE)
    if not text:
        return
    settings = json.loads(text)
    if "tensorflow" in sys.modules:
        _enter(settings)
    else:
        sys.meta_path.insert(0, _Finder(settings))


def _enter(settings: dict[str, Any]) -> None:
    importlib.import_module(settings["inside"]).enter(settings)


class _Finder:
    """Lets the other finders find TensorFlow, and calls `enter` of the module `inside` when its import has ended."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of `tensorflow` with a loader of ours, None for all else."""
        if fullname != "tensorflow" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            _enter(self._settings)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec
