"""Writes several files into a folder atomically."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from migrate.errors import MigrateError
from migrate.scratch import marked, remove_leftovers


class StagedFolder:
    """A temporary folder; `publish` moves its files to the target, each with one rename."""

    def __init__(self, stage: Path) -> None:
        self._stage = stage

    def path(self, name: str) -> Path:
        """Return the temporary path of `name`."""
        return self._stage / name

    def open(self, name: str) -> TextIO:
        """Open `name` for writing UTF-8 text."""
        return self.path(name).open("w", encoding="utf-8", newline="\n")

    def publish(self, target: Path) -> None:
        """Move all files to `target`, replacing files of the same names.

        Raises:
            MigrateError: `target` has a directory with the name of a file; no file was moved.
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
        MigrateError: the target cannot be created or written; no temporary files remain.
    """
    is_new = not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target)
        stage = Path(tempfile.mkdtemp(prefix=marked(), dir=target))
    except OSError as error:
        raise MigrateError(f"cannot write to {target}: {error.strerror or error}; choose another -o") from error
    done = False
    try:
        folder = StagedFolder(stage)
        yield folder
        folder.publish(target)
        done = True
    except OSError as error:
        raise MigrateError(f"cannot write to {target} ({error.strerror or error}); choose another -o") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if is_new and not done:
            shutil.rmtree(target, ignore_errors=True)
