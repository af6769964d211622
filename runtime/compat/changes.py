"""Records what a façade's `install` changes in TensorFlow and `sys.modules`, so that `uninstall` can undo it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

#: Marks an attribute or module that did not exist.
ABSENT = object()


class Changes:
    """Attributes and modules that were set, with their previous values."""

    def __init__(self, facade: str) -> None:
        """Take the façade's module name, which the docstrings of added modules mention."""
        self._facade = facade
        self._attributes: list[tuple[Any, str, Any]] = []
        self._modules: list[tuple[str, Any]] = []
        self._finders: list[Any] = []

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
        made: dict[str, ModuleType] = {}
        for name in contents:
            parts = name.split(".")
            for end in range(1 + len(below.split(".") if below else []), len(parts) + 1):
                path = ".".join(parts[:end])
                if path not in made:
                    made[path] = self.add_module(path, contents.get(path, {}))
        for name, module in made.items():
            package, _, last = name.rpartition(".")
            if package in made:
                setattr(made[package], last, module)

    def add_finder(self, finder: Any) -> None:
        """Let a finder of modules be asked after all others."""
        self._finders.append(finder)
        sys.meta_path.append(finder)

    def undo(self) -> None:
        """Undo all changes, the last one first."""
        for finder in self._finders:
            sys.meta_path.remove(finder)
        for owner, name, before in reversed(self._attributes):
            if before is ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
        for name, module in reversed(self._modules):
            if module is ABSENT:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
