"""The program's lines of a call stack."""

from __future__ import annotations

import sys
from typing import Any

from .lines import GENERATED
from .program import Program
from .state import Line, Stack

#: Lines of one stack that are kept, the innermost first; recursion makes long ones.
MOST = 30
#: Parts of the names of TensorFlow's files that save and restore.
_SAVERS = ("/checkpoint/", "/training/saver.py", "/training/saving/", "/saved_model/", "/saving/")


class Stacks:
    """Reads stacks of ops and of the running thread."""

    def __init__(self, program: Program, maps: dict[tuple[str, int], Line]) -> None:
        self._program, self._maps = program, maps

    def of(self, op: Any) -> Stack:
        """Return the program's lines that made an op."""
        trace = op.traceback
        if trace is None:
            return ()
        frames = ((trace[at].filename, trace[at].lineno) for at in range(len(trace) - 1, -1, -1))
        return self._kept(frames)

    def here(self) -> tuple[Stack, bool]:
        """Return the program's lines of this thread, and whether TensorFlow is saving or restoring."""
        frame = sys._getframe(2)
        names: list[tuple[str, int]] = []
        while frame is not None:
            names.append((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back  # type: ignore[assignment]
        saving = any(part in name for name, _ in names for part in _SAVERS)
        return self._kept(names), saving

    def own(self, name: str, line: int) -> Line | None:
        """Return the line of the program that a code object's line stands for; None if it is of a library."""
        if GENERATED in name:
            name, line = self._maps.get((name, line), ("", 0))
        path = self._program.path(name)
        return None if path is None else (path, line)

    def _kept(self, frames: Any) -> Stack:
        found: list[Line] = []
        for name, line in frames:
            one = self.own(name, line)
            if one is not None and (not found or found[-1] != one):
                found.append(one)
                if len(found) == MOST:
                    break
        return tuple(found)
