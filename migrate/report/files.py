"""Writing a file so that a reader sees the old content or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from migrate.errors import MigrateError


def write_atomically(path: Path, text: str) -> None:
    """Write UTF-8 `text` to `path` through a temporary file beside it; the mode of an existing file is kept.

    Raises `MigrateError` when the directory is missing or may not be written.
    """
    target = path.resolve()  # write through a link, as an editor does, instead of replacing it
    if target.is_dir():
        raise MigrateError(f"cannot write `{path}`: it is a directory; name a file")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as error:
        remedy = "make the directory first" if not target.parent.exists() else "choose a path that you may write"
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
