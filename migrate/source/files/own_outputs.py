"""Files that `migrate convert -o` wrote below a directory: judged again, they would be taken for the user's program."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from migrate.source.files.atomic_write import MANIFEST, is_as_written, read_manifest


class OwnOutputs:
    """Knows the files below `root` that were written there and are as they were; `root` itself is the user's choice."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._manifest = functools.cache(_manifest)

    def has(self, relative: Path) -> bool:
        """Say if the file of this path from the root is one of them."""
        for folder in relative.parents[:-1]:
            written = self._manifest(self._root / folder)
            if written and is_as_written(self._root / relative, written.get(relative.relative_to(folder).as_posix())):
                return True
        return False


def _manifest(folder: Path) -> Mapping[str, str]:
    return read_manifest(folder / MANIFEST)
