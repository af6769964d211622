"""The program's lines of a call stack."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from .lines import GENERATED
from .program import Program
from .state import Line, Stack

#: Lines of one stack that are kept, the innermost first; recursion makes long ones.
MOST = 30
#: Packages whose frames say nothing of who asked: what the program calls of them is in its source.
_FRAMEWORKS = ("tensorflow", "keras", "tf_keras", "tensorflow_estimator", "tensorboard", "absl", "six", "wrapt")
#: Parts of the names of TensorFlow's files that save and restore.
_SAVERS = ("/checkpoint/", "/training/saver.py", "/training/saving/", "/saved_model/", "/saving/")


class Made(NamedTuple):
    """What made an op."""

    at: Stack  #: the program's lines
    through: str  #: the innermost code that is neither the program nor a framework; empty if none is
    by_saver: bool  #: whether it was TensorFlow's code that saves and restores, not code that calls it


class Stacks:
    """Reads stacks of ops and of the running thread."""

    def __init__(self, program: Program, maps: dict[tuple[str, int], Line]) -> None:
        self._program, self._maps = program, maps
        self._neutral: dict[str, bool] = {}
        self._savers: dict[str, bool] = {}
        #: By the id of an op, which its entry keeps alive.
        self._ops: dict[int, tuple[Any, Made]] = {}
        here = os.path.dirname(__file__)  # noqa: PTH120
        self._library = os.path.realpath(os.path.dirname(os.__file__)) + os.sep  # noqa: PTH120
        # The tracer, and the runtime beside it, which puts functions of its own around TensorFlow's.
        self._own = (here + os.sep, os.path.join(os.path.normpath(f"{here}/../../../runtime"), ""))  # noqa: PTH118

    def of(self, op: Any) -> Made:
        """Return what made an op; a trace is read once, as that of each op is long and costs most of a record."""
        known = self._ops.get(id(op))
        if known is None:
            frames = _frames(op)
            made = Made(self.kept(frames), self.foreign(frames), self._by_saver(frames))
            known = self._ops[id(op)] = (op, made)
        return known[1]

    def _by_saver(self, frames: Iterable[tuple[str, int]]) -> bool:
        for name, _ in frames:
            if not self.is_neutral(name):
                return False
            if self._saves(name):
                return True
        return False

    def foreign(self, frames: Iterable[tuple[str, int]]) -> str:
        """Return the file of the first frame that is neutral no more, unless it is the program's.

        It is a library, or a text that is executed, as `<string>` is.
        """
        for name, line in frames:
            if self.own(name, line) is not None:
                return ""
            if not self.is_neutral(name):
                return os.path.basename(name)  # noqa: PTH119
        return ""

    def is_neutral(self, name: str) -> bool:
        """Whether a file belongs to a framework, to Python, to the tracer, or is made by AutoGraph."""
        if name not in self._neutral:
            parts = name.replace(os.sep, "/").split("/")
            at = max((n for n, part in enumerate(parts) if part.endswith("-packages")), default=None)
            python = at is None and os.path.realpath(name).startswith(self._library)
            framework = at is not None and parts[at + 1] in _FRAMEWORKS
            ours = name.startswith((*self._own, "<frozen ")) or GENERATED in name
            self._neutral[name] = python or framework or ours
        return self._neutral[name]

    def here(self) -> tuple[Stack, bool]:
        """Return the program's lines of this thread, and whether TensorFlow is saving or restoring."""
        names = running(3)
        return self.kept(names), any(self._saves(name) for name, _ in names)

    def _saves(self, name: str) -> bool:
        found = self._savers.get(name)
        if found is None:
            found = self._savers[name] = any(part in name for part in _SAVERS)
        return found

    def own(self, name: str, line: int) -> Line | None:
        """Return the line of the program that a code object's line stands for; None if it is of a library."""
        if GENERATED in name:
            name, line = self._maps.get((name, line), ("", 0))
        path = self._program.path(name)
        return None if path is None else (path, line)

    def kept(self, frames: Iterable[tuple[str, int]]) -> Stack:
        """Return the program's lines among frames, of which the innermost is the first."""
        found: list[Line] = []
        for name, line in frames:
            one = self.own(name, line)
            if one is not None and (not found or found[-1] != one):
                found.append(one)
                if len(found) == MOST:
                    break
        return tuple(found)


def running(depth: int) -> list[tuple[str, int]]:
    """Return (file, line) of the frames of this thread, the innermost first, without the first `depth - 1`."""
    frame = sys._getframe(depth)
    found: list[tuple[str, int]] = []
    while frame is not None:
        found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return found


def _frames(op: Any) -> list[tuple[str, int]]:
    trace = op.traceback
    return (
        [] if trace is None else [(one.filename, one.lineno) for one in map(trace.__getitem__, range(len(trace)))][::-1]
    )
