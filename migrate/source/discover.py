"""Which files a command works on: directories are walked, and files without a framework are passed over early."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from migrate.errors import MigrateError

FRAMEWORKS = ("tensorflow", "paddle")
SKIPPED = {"__pycache__", "node_modules", "build", "dist"}


@dataclass(frozen=True)
class Input:
    """A file to convert: where it is, and where it goes below an output directory."""

    path: Path
    relative: Path
    explicit: bool  #: named on the command line, so that it is reported whatever it holds


def find_inputs(paths: Sequence[str], skip: Path | None = None) -> list[Input]:
    """Return the Python files below `paths`, in a fixed order, each once; `skip` is a directory to leave out.

    Raises MigrateError for a path that does not exist or for two files that would be written to one place.
    """
    found: dict[Path, Input] = {}
    for text in paths:
        path = Path(text)
        if not text or not path.exists():
            raise MigrateError(f"{text or repr(text)}: no such file or directory; give an existing path")
        if path.is_dir():
            for file in walk(path, skip):
                found.setdefault(file.resolve(), Input(file, file.relative_to(path), explicit=False))
        else:
            found[path.resolve()] = Input(path, Path(path.name), explicit=True)
    _check_unique(found.values())  # type: ignore[arg-type]
    return list(found.values())


def _check_unique(inputs: Sequence[Input]) -> None:
    seen: dict[Path, Path] = {}
    for item in inputs:
        if item.relative in seen:
            other = seen[item.relative]
            raise MigrateError(f"{item.path} and {other} would both become {item.relative}; convert them one by one")
        seen[item.relative] = item.path


def walk(root: Path, skip: Path | None = None) -> Iterator[Path]:
    """Yield the `.py` files below `root`; a directory is visited once, however many links lead to it."""
    visited: set[str] = set()
    skipped = os.path.realpath(skip) if skip is not None else ""
    for directory, names, files in os.walk(root, followlinks=True):
        real = os.path.realpath(directory)
        if real in visited or real == skipped:
            names.clear()
            continue
        visited.add(real)
        names[:] = sorted(n for n in names if n not in SKIPPED and not n.startswith("."))
        for name in sorted(files):
            path = Path(directory, name)
            if name.endswith(".py") and path.is_file():
                yield path


def mentions_framework(data: bytes) -> bool:
    """First filter: True when the bytes name a framework at all."""
    return any(name.encode() in data for name in FRAMEWORKS)


def framework_of(text: str) -> str:
    """Second filter: `tensorflow`, `paddle` or `other`, by the imports (with both, Paddle)."""
    imported = set()
    dynamic = False
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call):
            dynamic = dynamic or _imports_by_string(node)
    for name in ("paddle", "tensorflow"):
        if name in imported:
            return name
    return "tensorflow" if dynamic else "other"


def _imports_by_string(node: ast.Call) -> bool:
    """True for `importlib.import_module("tensorflow")` and `__import__("tensorflow")`."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    first = node.args[0] if node.args else None
    named = isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.startswith("tensorflow")
    return name in {"import_module", "__import__"} and named
