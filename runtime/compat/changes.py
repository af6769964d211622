"""Records what a façade's `install` changes in TensorFlow and `sys.modules`, so that `uninstall` can undo it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

#: Marks an attribute or module that did not exist.
ABSENT = object()


class Changes:
    """Attributes and modules that were set, with their previous values; it is true while there are any."""

    def __init__(self, facade: str) -> None:
        """Take the façade's module name, which the docstrings of added modules mention."""
        self._facade = facade
        self._attributes: list[tuple[Any, str, Any]] = []
        self._modules: list[tuple[str, Any]] = []
        self._finders: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self._attributes or self._modules or self._finders)

    @contextlib.contextmanager
    def whole(self, uninstall: Callable[[], None]) -> Iterator[Changes]:
        """Let all changes of a block be made or none: if it fails, they are undone by `uninstall`."""
        try:
            yield self
        except BaseException:
            uninstall()
            raise

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a module or class."""
        self._attributes.append((owner, name, vars(owner).get(name, ABSENT)))
        setattr(owner, name, value)

    def add_module(self, name: str, contents: Mapping[str, Any]) -> ModuleType:
        """Make a module or package importable by its full name."""
        module = ModuleType(name, f"Added by {self._facade}.install().")
        module.__dict__.update({"__path__": [], **contents})
        self._modules.append((name, sys.modules.get(name, ABSENT)))
        sys.modules[name] = module
        return module

    def add_modules(self, contents: Mapping[str, Mapping[str, Any]], below: str = "") -> None:
        """Make modules with these contents importable, with their packages; each becomes an attribute of its package.

        The package `below` exists already and is not changed.
        """
        modules: dict[str, ModuleType] = {}
        for name in contents:
            parts = name.split(".")
            for end in range(1 + len(below.split(".") if below else []), len(parts) + 1):
                path = ".".join(parts[:end])
                if path not in modules:
                    modules[path] = self.add_module(path, contents.get(path, {}))
        for name, module in modules.items():
            package, _, last = name.rpartition(".")
            if package in modules:
                setattr(modules[package], last, module)

    def add_finder(self, finder: Any) -> None:
        """Let a finder of modules be asked after all others."""
        self._finders.append(finder)
        sys.meta_path.append(finder)

    def undo(self) -> None:
        """Undo all changes, the last one first, if there are any."""
        while self._finders:
            sys.meta_path.remove(self._finders.pop())
        while self._attributes:
            owner, name, before = self._attributes.pop()
            if before is ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        while self._modules:
            name, module = self._modules.pop()
            if module is ABSENT:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
