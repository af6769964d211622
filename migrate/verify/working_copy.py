"""A working folder for a program that is run: it finds its files there, and what it writes is thrown away.

The folder and those below it are made anew. Small files are copied, so that one that is written to stays as it was;
others are links. The folders above have links to what is beside, so that `../data` is found.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

#: Larger files are links. A program that writes to one of these changes it.
SMALL = 1 << 16
#: Entries of the folder, and of each folder above, that are taken; what lies deeper than these is a link.
MOST = 2000


def enter(directory: str, over: str | None = None) -> Path:
    """Make the mirror of a directory the working directory; whoever started this process removes it with TMPDIR.

    What the folder `over` has is taken in place of what the directory has.
    """
    sys.dont_write_bytecode = True  # a process may have begun without the variable: what is imported lies beside
    here = mirrored(directory, Path(tempfile.mkdtemp(prefix="folder-")), over)
    os.chdir(here)
    return here


def mirrored(directory: str, scratch: Path, over: str | None = None) -> Path:
    """Make the mirror of a directory, with what `over` has in place of it, in an empty folder, and return it."""
    real = Path(directory).resolve()
    here = scratch
    for above, name in zip(reversed(real.parents), real.parts[1:], strict=True):
        _link_siblings(above, here, name)
        here = here / name
        here.mkdir()
    for folder in (Path(over).resolve(), real) if over else (real,):
        _fill(folder, here)
    return here


def _link_siblings(real: Path, mirror: Path, without: str) -> None:
    with contextlib.suppress(OSError), os.scandir(real) as entries:
        for _, entry in zip(range(MOST), entries, strict=False):
            if entry.name != without:
                (mirror / entry.name).symlink_to(entry.path)


def _fill(real: Path, mirror: Path) -> None:
    """Fill a directory of the mirror, level by level while entries are left, those nearest first."""
    waiting, left = [(real, mirror)], MOST
    while waiting:
        place, copy = waiting.pop(0)
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                left -= 1
                target = copy / entry.name
                if not os.path.lexists(target) and (left < 0 or not _is_own(entry, target)):
                    target.symlink_to(entry.path)
                elif entry.is_dir() and target.is_dir() and not target.is_symlink():
                    waiting.append((Path(entry.path), target))


def _is_own(entry: os.DirEntry[str], target: Path) -> bool:
    """Make a directory, or copy a small file; False for what is to be a link."""
    with contextlib.suppress(OSError):
        if entry.is_dir(follow_symlinks=False):
            target.mkdir()
            return True
        if entry.is_file(follow_symlinks=False) and entry.stat().st_size <= SMALL:
            shutil.copy2(entry.path, target)
            return True
    return False
