"""Temporary files and folders beside what they become: their names carry the process, so that the next one can tell.

A process that ends removes its own, also by Ctrl-C, SIGTERM and SIGHUP. What `kill -9` left in a place is removed by
the next process that makes something temporary there. Numbers of processes mean something on one machine and in one
container alone, while folders may be shared by several: the names carry these, too, and what another one left stays.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

#: Bytes of the name of a file that the name of its temporary one has; names of more than 255 are refused.
_ROOM = 100


def marked(target: str = "") -> str:
    """Return the prefix of a hidden temporary name of this process, with the name of what it becomes."""
    shown = target.encode(errors="ignore")[:_ROOM].decode(errors="ignore")
    return f".{shown}{'.' if shown else ''}migrate-{_own()}"


@contextlib.contextmanager
def scratch_folder(kind: str, place: Path | None = None) -> Iterator[Path]:
    """Yield a temporary folder in a place (None: the system's), after those that killed processes left there are gone.

    Args:
        kind: what stands before the number of the process: `.migrate-`, or `migrate-WORD-`.
        place: an existing folder.
    """
    within = place or Path(tempfile.gettempdir())
    remove_leftovers(within)
    with tempfile.TemporaryDirectory(prefix=f"{kind}{_own()}", dir=within) as folder:
        yield Path(folder)


def lasting_folder(kind: str) -> Path:
    """Make a temporary folder for as long as this process lives, after those that ended ones left there are gone.

    Whoever started the process removes it with TMPDIR; else the next process that makes something temporary there.

    Args:
        kind: what stands before the number of the process: `migrate-WORD-`.
    """
    remove_leftovers(Path(tempfile.gettempdir()))
    return Path(tempfile.mkdtemp(prefix=f"{kind}{_own()}"))


def remove_leftovers(place: Path) -> None:
    """Remove what this user's processes here that have ended left in a place; what cannot be removed stays."""
    form = re.compile(rf"(?:.*\.)?migrate-(?:[a-z]+-)?([0-9]+)-{_here()}-[a-z0-9_]{{8}}(?:\.tmp)?")
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            match = form.fullmatch(entry.name)
            if match and not _lives(int(match[1])) and _is_own(entry):
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    with contextlib.suppress(OSError):
                        Path(entry.path).unlink()


def _is_own(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False


def _own() -> str:
    return f"{os.getpid()}-{_here()}-"


@functools.cache
def _here() -> str:
    """Return eight letters and digits of this machine since it was started, and of this container."""
    parts = [platform.node()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        parts.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115 - it leads nowhere
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
