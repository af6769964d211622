"""Writes several files into a folder so that either all of them appear or none."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from migrate.errors import MigrateError


class StagedFolder:
    """A folder being filled out of sight; `publish` moves its files to the target with one rename each."""

    def __init__(self, stage: Path) -> None:
        self._stage = stage

    def path(self, name: str) -> Path:
        """Return where `name` is while the folder is being filled."""
        return self._stage / name

    def open(self, name: str) -> TextIO:
        """Open `name` for writing text (UTF-8)."""
        return self.path(name).open("w", encoding="utf-8", newline="\n")

    def publish(self, target: Path) -> None:
        """Move every file to `target`, over older ones of the same name.

        Raises:
            MigrateError: a directory is in the way of one of them; no file was moved.
        """
        files = sorted(self._stage.iterdir())
        for file in files:
            if (target / file.name).is_dir():
                raise MigrateError(f"{target / file.name} is a directory; move it away or choose another -o")
        for file in files:
            file.replace(target / file.name)


@contextmanager
def staged(target: Path) -> Iterator[StagedFolder]:
    """Yield a staged folder whose files appear in `target` when the block ends without an exception.

    Raises:
        MigrateError: the target cannot be made or written; nothing is left behind.
    """
    made = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".staged-", dir=target))
    except OSError as error:
        raise MigrateError(f"cannot write to {target}: {error.strerror or error}; choose another -o") from error
    done = False
    try:
        folder = StagedFolder(stage)
        yield folder
        folder.publish(target)
        done = True
    except OSError as error:
        raise MigrateError(f"cannot write to {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if made and not done:
            shutil.rmtree(target, ignore_errors=True)
