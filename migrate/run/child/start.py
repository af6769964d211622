"""Waits until this process imports TensorFlow, then installs the rewriter; called by the `sitecustomize` of the run."""

from __future__ import annotations

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


def start() -> None:
    """Prepare this process, if the environment says so; then run the `sitecustomize` that would have run."""
    text = os.environ.get(VARIABLE)
    if not text:
        return
    settings = json.loads(text)
    sys.meta_path.insert(0, _Finder(settings))
    _next_sitecustomize(settings["site"])


class _Finder:
    """Lets the other finders find TensorFlow, and installs the rewriter when its import has ended."""

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
            from .inside import enter

            enter(self._settings)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def _next_sitecustomize(site: str) -> None:
    places = [one for one in sys.path if os.path.realpath(one or ".") != os.path.realpath(site)]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)
