"""Which files belong to the program, and which bytes they had when it imported them."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable

#: Lines of one stack that are kept; recursion makes long ones.
_MOST = 30
_LIBRARIES = ("site-packages", "dist-packages")


class Program:
    """The files below a root, without installed packages, environments and hidden folders."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root) + os.sep
        self._start = os.getcwd()  # noqa: PTH109  # relative names of files are meant from here
        self._without = tuple(os.path.realpath(one) + os.sep for one in {sys.prefix, sys.base_prefix})
        self._known: dict[str, str | None] = {}
        self.digests: dict[str, str] = {}  #: path -> sha256 of the bytes that the file had when it was first met

    def path(self, name: str) -> str | None:
        """Return the path from the root of a file as a code object names it; None if it is not of the program."""
        try:
            return self._known[name]
        except KeyError:
            path = self._known[name] = self._find(name)
            return path

    def lines(self, stack: Iterable[tuple[str, int | None]]) -> list[tuple[str, int]]:
        """Return the program's lines of a stack of files and lines, the innermost first."""
        lines: list[tuple[str, int]] = []
        for name, line in reversed(list(stack)):
            path = self.path(name)
            if path is not None and lines[-1:] != [(path, line)]:
                lines.append((path, line or 0))
        return lines[:_MOST]

    def read_modules(self) -> None:
        """Read the files of the modules that were imported since, of which the main one is the first."""
        for module in list(sys.modules.values()):
            name = getattr(module, "__file__", None)
            if isinstance(name, str):
                self.path(name)

    def _find(self, name: str) -> str | None:
        if name.startswith("<") or not name.endswith(".py"):
            return None
        full = os.path.realpath(os.path.join(self._start, name))  # noqa: PTH118
        if not full.startswith(self._root) or (full.startswith(self._without) and not self._holds_program()):
            return None
        path = full[len(self._root) :].replace(os.sep, "/")
        parts = path.split("/")
        if any(part.startswith(".") or part in _LIBRARIES for part in parts) or self._in_environment(parts):
            return None
        self._read(full, path)
        return path

    def _holds_program(self) -> bool:
        """Whether the root lies inside the Python installation, whose files then do not all count as libraries."""
        return self._root.startswith(self._without)

    def _in_environment(self, parts: list[str]) -> bool:
        """Whether a file lies in a virtual environment below the root."""
        folders = (os.path.join(self._root, *parts[:end]) for end in range(1, len(parts)))  # noqa: PTH118
        return any(os.path.exists(os.path.join(one, "pyvenv.cfg")) for one in folders)  # noqa: PTH110, PTH118

    def _read(self, full: str, path: str) -> None:
        try:
            with open(full, "rb") as stream:  # noqa: PTH123
                self.digests.setdefault(path, hashlib.sha256(stream.read()).hexdigest())
        except OSError:
            pass  # a file that is already gone has no digest, and so no evidence
