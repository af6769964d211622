"""Shows paths as reports do, and tests paths, with False instead of an exception if one is not accessible.

`Path.exists` and `Path.is_file` raise PermissionError below a directory that may not be entered.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path


def exists(path: Path) -> bool:
    """True if the path exists and is accessible."""
    return os.path.exists(path)  # noqa: PTH110 - see above


def is_file(path: Path) -> bool:
    """True if the path is an accessible file."""
    return os.path.isfile(path)  # noqa: PTH113 - see above


def is_link(path: Path) -> bool:
    """True if the path is an accessible symbolic link."""
    return os.path.islink(path)  # noqa: PTH114 - see above


def shown(path: Path) -> str:
    """Return a path as reports show it: with `/`, and relative to the working directory if it is below that."""
    directory = _shown_directory(str(path.parent), str(Path.cwd()))
    text = path.as_posix() if directory is None else f"{directory}{path.name}"
    return printable(text)


def printable(text: str) -> str:
    """Return a file's name without line feeds and bytes that are not UTF-8, which would break lines: escaped."""
    return text if text.isprintable() else text.encode("unicode_escape", "surrogatepass").decode("ascii")


@functools.cache
def _shown_directory(directory: str, here: str) -> str | None:
    """Return the relative path from `here` to a directory below it, ending in `/` or empty; None if not below."""
    relative = os.path.relpath(directory, here)
    return None if relative.startswith("..") else "" if relative == "." else f"{Path(relative).as_posix()}/"
