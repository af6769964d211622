"""Finds the root directory of the project that a file belongs to."""

from __future__ import annotations

from pathlib import Path

#: Names whose presence marks the root of a project.
MARKERS = ("pyproject.toml", "setup.cfg", "setup.py", ".git")


def home_of(path: Path) -> Path:
    """Return the nearest directory above a file that is the root of a project or the working directory.

    If there is neither, return the directory of the file, or the one that contains its outermost package.
    """
    here = Path.cwd()
    above = path.resolve().parents
    for directory in above:
        whole = directory in (Path.home(), directory.parent)  # too large to analyse: a home directory, or `/`
        if any((directory / name).exists() for name in MARKERS) or (directory == here and not whole):
            return directory
    return next(one for one in above if not (one / "__init__.py").exists())
