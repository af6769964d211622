"""Calls a function after a module was imported, and lets libraries be imported without a trace function."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .lines import Lines
from .program import Program


class Finder(importlib.abc.MetaPathFinder):
    """Asks the other finders, and wraps the loaders of the modules that are waited for."""

    def __init__(self, program: Program, lines: Lines) -> None:
        self._program, self._lines = program, lines
        self._waiting: dict[str, Callable[[ModuleType], None]] = {}

    def after(self, module: str, call: Callable[[ModuleType], None]) -> None:
        """Have `call` called with the module once it is imported, or at once."""
        if module in sys.modules:
            call(sys.modules[module])
        else:
            self._waiting[module] = call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec that another finder has, with another loader if the module is of interest."""
        # A module that is imported by a library needs no pause of its own.
        if not self._lines.are_heard and fullname not in self._waiting and not self._program.may_hold(path):
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None and hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self)
                return spec
        return None

    def execute(self, loader: Any, module: ModuleType) -> None:
        """Execute a module, and call who waits for it."""
        own = self._program.path(getattr(module, "__file__", None) or "<built-in>") is not None
        with self._lines.listening() if own else self._lines.paused():
            loader.exec_module(module)
        call = self._waiting.pop(module.__name__, None)
        if call is not None:
            call(module)


class _Loader(importlib.abc.Loader):
    """Does what the loader of a module does, through the finder."""

    def __init__(self, loader: Any, finder: Finder) -> None:
        self._loader, self._finder = loader, finder

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Return what the loader makes."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module, with its own loader in its place again."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._finder.execute(self._loader, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
