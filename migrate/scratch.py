"""Temporary files and folders beside what they become: their names carry the process, so that the next one can tell.

A process that ends removes its own, also by Ctrl-C and SIGTERM. What `kill -9` left in a place is removed by the next
process that makes something temporary there.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"(?:\.|.*\.)?migrate-(?:[a-z]+-)?(\d+)-[a-z0-9_]{8}(?:\.tmp)?")


def marked(before: str) -> str:
    """Return the prefix of a temporary name of this process; `before` is empty or ends with a dot."""
    return f"{before}migrate-{os.getpid()}-"


@contextlib.contextmanager
def scratch_folder(kind: str, place: Path | None = None) -> Iterator[Path]:
    """Yield a temporary folder in a place (None: the system's), after those that killed processes left there are gone.

    Args:
        kind: what stands before the number of the process: `.migrate-`, or `migrate-WORD-`.
        place: an existing folder.
    """
    within = place or Path(tempfile.gettempdir())
    remove_leftovers(within)
    with tempfile.TemporaryDirectory(prefix=f"{kind}{os.getpid()}-", dir=within) as folder:
        yield Path(folder)


def remove_leftovers(place: Path) -> None:
    """Remove temporary files and folders of processes that have ended; what cannot be removed stays."""
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found and not _lives(int(found[1])):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    with contextlib.suppress(OSError):
                        Path(entry.path).unlink()


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
