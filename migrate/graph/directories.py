"""Writes a directory atomically, without replacing directories that migrate did not write."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from migrate.errors import MigrateError
from migrate.folders import new_folder
from migrate.regular_files import read_regular_text
from migrate.source.files.atomic_write import MANIFEST

__all__ = ["check_replaceable", "new_directory"]


def check_replaceable(target: Path, force: bool) -> None:
    """Check that the directory `target` can be written.

    Raises:
        MigrateError: `target` is a file, is a directory that migrate did not write or that was changed since, or
            cannot be written.
    """
    place = next(parent for parent in target.absolute().parents if parent.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise MigrateError(f"{target}: cannot be written (Permission denied); choose another path")
    if target.exists() and not target.is_dir():
        raise MigrateError(f"{target}: is a file; give a directory")
    if force or not target.exists() or not any(target.iterdir()):
        return
    written = _manifest(target)
    if not written:
        raise MigrateError(f"{target}: was not written by migrate; move it away or use --force")
    if written != _digests(target):
        raise MigrateError(f"{target}: was edited since it was written; move it away or use --force")


@contextmanager
def new_directory(target: Path) -> Iterator[Path]:
    """Yield an empty directory, which replaces `target` when the block ends without an exception.

    Raises:
        MigrateError: `target` cannot be written.
    """
    with new_folder(target, replace=True) as filled:
        yield filled
        (filled / MANIFEST).write_text(json.dumps({"written": _digests(filled)}, indent=1) + "\n", encoding="utf-8")


def _digests(folder: Path) -> dict[str, str]:
    """Return path -> digest of each file; for the large data files of checkpoints, the size is enough."""
    digests = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != MANIFEST:
            large = ".data-" in path.name
            digest = str(path.stat().st_size) if large else hashlib.sha256(path.read_bytes()).hexdigest()
            digests[path.relative_to(folder).as_posix()] = digest
    return digests


def _manifest(folder: Path) -> dict[str, str]:
    try:
        names = json.loads(read_regular_text(folder / MANIFEST))["written"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return names if isinstance(names, dict) else {}
