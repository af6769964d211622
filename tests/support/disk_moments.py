"""What `kill -9` at any moment would leave on the disk: a copy at every change that a call makes there."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CHANGES = {"open", "os.mkdir", "os.chmod", "os.rename", "os.remove", "shutil.rmtree"}
_keep: list[Callable[[Path, bool], None]] = []


def moments(work: Callable[[], Any], folder: Path, copies: Path) -> list[Path]:
    """Return copies, below `copies`, of `folder` before each change that `work` makes in it, and after the last.

    A file that is opened to be written is empty in a second copy: a killed process does not write what Python buffers.
    """
    copies.mkdir()
    taken: list[Path] = []

    def copy() -> Path:
        taken.append(copies / str(len(taken)))
        return Path(shutil.copytree(folder, taken[-1], symlinks=True))

    def keep(changed: Path, emptied: bool) -> None:
        if folder not in changed.parents:
            return
        _keep.clear()  # copying changes the disk, too
        copy()
        if emptied:
            (copy() / changed.relative_to(folder)).write_bytes(b"")
        _keep.append(keep)

    _install()
    _keep.append(keep)
    try:
        work()
    finally:
        _keep.clear()
    copy()
    return taken


@functools.cache
def _install() -> None:
    """Install the hook, once: Python keeps it as long as the process lives."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _keep or event not in _CHANGES or not isinstance(arguments[0], (str, os.PathLike)):
        return
    if event != "open":
        _keep[0](Path(arguments[0]), False)
    elif arguments[2] & (os.O_WRONLY | os.O_RDWR):
        _keep[0](Path(arguments[0]), bool(arguments[2] & (os.O_TRUNC | os.O_EXCL)))
