"""Keeps what is read and written for a folder inside of it: a file of the folder may name, or link to, anything."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from migrate.errors import MigrateError

#: What programs run or obey that work on the folder, whatever wrote it.
_NEVER = ".git"


def check_inside(root: Path, path: Path) -> None:
    """Raise MigrateError if a link leads from `path` out of the folder `root`, below which it lies."""
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(os.path.realpath(root)):
        raise MigrateError(f"{path}: a link leads to {real}, outside of {root}; remove the link, or use another folder")


def named_inside(root: Path, name: str, by: str) -> Path:
    """Return the path of a file that a file of the folder `root` names; `by` is the file that does.

    Raises MigrateError for one outside of `root`, also by a link, and for one of its repository's own.
    """
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts or "\0" in name:
        raise MigrateError(f"{by}: names `{name}`, which is outside of {root}; remove that entry")
    if _NEVER in map(str.lower, parts):
        raise MigrateError(f"{by}: names `{name}`, which changes what git does; remove that entry")
    check_inside(root, root / name)
    return root / name


def is_walked(root: Path, path: Path) -> bool:
    """Return whether a file below `root` lies where a conversion of the folder looks, not in a hidden one or a venv."""
    below = path.relative_to(root)
    folders = [root / folder for folder in below.parents[:-1]]
    return not any(part.startswith(".") for part in below.parts) and not any(
        os.path.lexists(folder / "pyvenv.cfg") for folder in folders
    )
