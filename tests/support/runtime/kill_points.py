"""What a folder holds at every moment at which a process may be killed: each step that changes files is told to Python.

A kill leaves the files as they are. So one run gives all of these moments: a copy of the folder before each step. What
TensorFlow itself writes in C++ (a bundle, the state file) counts as one step.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import tensorflow as tf

#: What each file holds; None for a folder.
Files = dict[str, bytes | None]
_STEPS = ("os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "shutil.copyfile", "open")
_watched: list[KillPoints] = []


class KillPoints:
    """The different states of a folder, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states: list[Files] = []
        self._is_looking = False

    def look(self) -> None:
        """Note the folder's state, unless it is the last one noted."""
        if self._is_looking:
            return
        self._is_looking = True
        try:
            files = self._read()
            if not self.states or files != self.states[-1]:
                self.states.append(files)
        finally:
            self._is_looking = False

    def put_back(self, files: Files) -> None:
        """Make the folder what it was at one moment."""
        now = self._read()
        for name in sorted(now.keys() - files.keys(), reverse=True):  # what is in a folder before it
            (self.folder / name).rmdir() if now[name] is None else (self.folder / name).unlink()
        for name, content in sorted(files.items()):
            if content is None:
                (self.folder / name).mkdir(exist_ok=True)
            elif now.get(name) != content:
                (self.folder / name).unlink(missing_ok=True)  # it may have a second name
                (self.folder / name).write_bytes(content)

    def _read(self) -> Files:
        found = [Path(place) / name for place, folders, files in os.walk(self.folder) for name in (*folders, *files)]
        return {str(one.relative_to(self.folder)): None if one.is_dir() else one.read_bytes() for one in found}


@contextlib.contextmanager
def watched(folder: Path) -> Iterator[KillPoints]:
    """Note the states of a folder while something is saved there."""
    points = KillPoints(folder)
    management = sys.modules[tf.train.get_checkpoint_state.__module__]
    with contextlib.ExitStack() as patches:
        for owner, name in (
            (tf.compat.v1.train, "update_checkpoint_state"),
            (management, "update_checkpoint_state_internal"),
            (tf.compat.v1.Session, "run"),
        ):
            patches.enter_context(mock.patch.object(owner, name, _around(getattr(owner, name), points)))
        _watched.append(points)
        try:
            points.look()
            yield points
            points.look()
        finally:
            _watched.remove(points)


def _around(call: Any, points: KillPoints) -> Any:
    def noted(*arguments: Any, **options: Any) -> Any:
        points.look()
        result = call(*arguments, **options)
        points.look()
        return result

    return noted


def _on_step(event: str, arguments: tuple[Any, ...]) -> None:
    if _watched and event in _STEPS and (event != "open" or "w" in str(arguments[1])):
        for points in _watched:
            points.look()


sys.addaudithook(_on_step)
