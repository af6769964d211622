"""Tests of paths that return False instead of raising if the path is not accessible.

`Path.exists` and `Path.is_file` raise PermissionError below a directory that may not be entered.
"""

from __future__ import annotations

import os
from pathlib import Path


def exists(path: Path) -> bool:
    """True if the path exists and is accessible."""
    return os.path.exists(path)  # noqa: PTH110 - see above


def is_file(path: Path) -> bool:
    """True if the path is an accessible file."""
    return os.path.isfile(path)  # noqa: PTH113 - see above


def is_link(path: Path) -> bool:
    """True if the path is an accessible symbolic link."""
    return os.path.islink(path)  # noqa: PTH114 - see above
