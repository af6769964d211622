"""Says whether a folder can be copied as it is: nothing in it may lead out of what was given, or end nowhere."""

from __future__ import annotations

import os
from pathlib import Path


def not_copied(folder: Path, root: Path) -> Path | None:
    """Return the first path in `folder` that a copy must not follow; None if there is none.

    That is a link out of `root`, a link to a folder above itself, a device or a pipe.
    """
    top = os.path.realpath(root)
    for place, folders, files in os.walk(folder):
        above = os.path.realpath(place)
        for name in sorted([*folders, *files]):
            path = Path(place, name)
            real = os.path.realpath(path)
            is_loop = path.is_symlink() and Path(above).is_relative_to(real)
            if is_loop or not Path(real).is_relative_to(top) or not (path.is_dir() or path.is_file()):
                return path
            if path.is_symlink() and path.is_dir() and (outside := not_copied(Path(real), root)):
                return outside
    return None
