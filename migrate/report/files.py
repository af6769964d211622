"""Writes a file atomically: a reader sees either the old or the new content."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from migrate.errors import MigrateError
from migrate.scratch import marked, remove_leftovers


def write_atomically(path: Path, text: str) -> None:
    """Write UTF-8 `text` to `path` through a temporary file in the same directory; keeps the mode of an existing file.

    Raises `MigrateError` when the directory is missing or not writable.
    """
    target = path.resolve()  # write to the target of a link, as editors do, instead of replacing the link
    if target.is_dir():
        raise MigrateError(f"cannot write `{path}`: it is a directory; name a file")
    try:
        remove_leftovers(target.parent)
        handle, name = tempfile.mkstemp(prefix=marked(target.name), suffix=".tmp", dir=target.parent)
    except OSError as error:
        remedy = "create the directory first" if not target.parent.exists() else "choose a writable path"
        raise MigrateError(f"cannot write `{path}`: {error.strerror or error}; {remedy}") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode(errors="backslashreplace"))
        Path(name).chmod(_mode(target))
        Path(name).replace(target)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise MigrateError(f"cannot write `{path}`: {error.strerror or error}; choose another path") from error


def _mode(target: Path) -> int:
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
