"""What lies at a path, asked without an exception: where one may not look, nothing is there.

`Path.exists` and `Path.is_file` raise PermissionError below a directory that may not be entered.
"""

from __future__ import annotations

import os
from pathlib import Path


def exists(path: Path) -> bool:
    """True when something that can be seen lies there."""
    return os.path.exists(path)  # noqa: PTH110 - see above


def is_file(path: Path) -> bool:
    """True when a file that can be seen lies there."""
    return os.path.isfile(path)  # noqa: PTH113 - see above


def is_link(path: Path) -> bool:
    """True when a symbolic link that can be seen lies there."""
    return os.path.islink(path)  # noqa: PTH114 - see above
