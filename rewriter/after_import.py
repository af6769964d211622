"""Calls a function once a module has been imported.

`migrate` loads this file by its path into processes that have not imported TensorFlow, so it needs Python's library
alone.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def after_import(
    name: str, call: Callable[[ModuleType], None], missing: Callable[[], None] = lambda: None
) -> Callable[[], None]:
    """Call `call` with a module once its import has ended, or at once; return what ends the wait.

    `missing` is called whenever somebody asks for the module and it is not there.
    """
    if name in sys.modules:
        call(sys.modules[name])
        return lambda: None
    finder = _Finder(name, call, missing)
    sys.meta_path.insert(0, finder)
    return finder.end


class _Finder:
    """Lets the other finders find the module, and gives it a loader that calls the function."""

    def __init__(self, name: str, call: Callable[[ModuleType], None], missing: Callable[[], None]) -> None:
        self._name, self._call, self._missing, self._looks = name, call, missing, False

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of the module, None for others; who asks for it need not import the module."""
        if name != self._name or self._looks or self not in sys.meta_path:
            return None
        self._looks = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looks = False
        if spec is None:
            self._missing()
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            waits = self in sys.meta_path
            self.end()
            execute(module)
            if waits:
                self._call(module)

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec

    def end(self) -> None:
        """Wait no longer."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
