"""Writes a folder atomically: completely or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from migrate.errors import MigrateError
from migrate.scratch import marked, remove_leftovers


@contextmanager
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
        stage = Path(tempfile.mkdtemp(prefix=marked(f".{target.name}."), suffix=".tmp", dir=target.parent))
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
        raise MigrateError(f"cannot write to {target}: {error.strerror or error}") from error
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
    """Rename `stage` to `target` and remove the old folder; it is restored if the rename fails."""
    if not target.exists():
        stage.rename(target)
        return
    old = Path(tempfile.mkdtemp(prefix=marked(f".{target.name}."), suffix=".tmp", dir=target.parent))
    target.rename(old)  # over an empty folder
    try:
        stage.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
