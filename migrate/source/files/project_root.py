"""Which directory a file belongs to, where none is named: the one that a run over its project is given."""

from __future__ import annotations

from pathlib import Path

#: What lies in the first directory of a project.
MARKERS = ("pyproject.toml", "setup.cfg", "setup.py", ".git")


def home_of(path: Path) -> Path:
    """Return the nearest directory above a file that is the head of a project, or the working directory.

    Without either it is the one that holds the file, or its outermost package.
    """
    here = Path.cwd()
    above = path.resolve().parents
    for directory in above:
        whole = directory in (Path.home(), directory.parent)  # everything that a person, or the machine, has
        if any((directory / name).exists() for name in MARKERS) or (directory == here and not whole):
            return directory
    return next(one for one in above if not (one / "__init__.py").exists())
