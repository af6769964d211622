"""Writes a folder atomically: completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from migrate.errors import MigrateError
from migrate.scratch import marked, remove_leftovers

#: Characters of a folder's name that the hidden name of the old one has.
_ROOM = 50


@contextlib.contextmanager
def new_folder(target: Path, *, replace: bool) -> Iterator[Path]:
    """Yield an empty temporary folder, which is renamed to `target` when the block ends without an exception.

    Another process sees either the old folder or the complete new one.

    Raises:
        MigrateError: `target` is not empty and `replace` is false, or it cannot be written; no temporary files remain.
    """
    target = target.absolute()
    if target.exists() and not target.is_dir():
        raise MigrateError(f"{target} is a file; choose another folder")
    if not replace and target.exists() and any(target.iterdir()):
        raise _taken(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target.parent)
        stage = Path(tempfile.mkdtemp(prefix=marked(target.name), suffix=".tmp", dir=target.parent))
    except OSError as error:
        raise MigrateError(
            f"cannot write to {target.parent}: {error.strerror or error}; choose another folder"
        ) from error
    try:
        yield stage
        stage.chmod(0o777 & ~_umask())
        if replace:
            _put(stage, target)
        else:
            _put_new(stage, target)
    except OSError as error:
        raise MigrateError(f"cannot write to {target} ({error.strerror or error}); choose another -o") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _taken(target: Path) -> MigrateError:
    return MigrateError(f"{target} is not empty; choose another folder, or replace it with --force")


def _put_new(stage: Path, target: Path) -> None:
    """Rename `stage` to `target`, which must be missing or empty; another process may have filled it meanwhile."""
    try:
        stage.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise _taken(target) from error
        raise


def _put(stage: Path, target: Path) -> None:
    """Rename `stage` to `target`, and the old folder to `stage`; it is restored if the rename fails.

    In between, the old folder has a name that no later process takes for a leftover: `kill -9` there loses nothing.
    """
    if not target.exists():
        stage.rename(target)
        return
    kept = Path(tempfile.mkdtemp(prefix=f".{target.name[:_ROOM]}.replaced-", dir=target.parent))
    try:
        target.rename(kept)  # over an empty folder
        stage.rename(target)
    except BaseException:
        with contextlib.suppress(OSError):
            kept.rmdir() if target.exists() else kept.rename(target)
        raise
    kept.rename(stage)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
