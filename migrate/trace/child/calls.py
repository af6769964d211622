"""Notes which call on a line made a lookup: Python 3.11 knows the columns of what runs, an op's traceback does not."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any

from .lines import GENERATED
from .op_kinds import may_look_up
from .patching import wrap
from .stacks import Stacks
from .state import End, Notes, unharmed


class Calls:
    """Looks at the program's innermost frame while an op is made."""

    def __init__(self, notes: Notes, stacks: Stacks) -> None:
        self._notes, self._stacks = notes, stacks
        #: By the id of a code object, which its entry keeps alive: the end of the expression of each instruction.
        self._codes: dict[int, tuple[CodeType, list[End]]] = {}

    def install(self) -> None:
        """Have TensorFlow, which is imported, tell of ops."""
        from tensorflow.python.framework import ops

        if hasattr(CodeType, "co_positions"):
            wrap(ops.Graph, "_create_op_internal", self._made)

    def _made(self, original: Any, graph: Any, *arguments: Any, **settings: Any) -> Any:
        op = original(graph, *arguments, **settings)
        if may_look_up(op.type):
            with unharmed(self._notes):
                self._notes.ends[id(graph), op.name] = self._end(sys._getframe(2))
        return op

    def _end(self, frame: FrameType | None) -> End:
        """Return where the call ends that the innermost frame of the program runs; empty if that is not known."""
        while frame is not None:
            code = frame.f_code
            if GENERATED in code.co_filename:
                return ()  # the columns are not those of the program's file
            if self._stacks.own(code.co_filename, frame.f_lineno) is not None:
                return self._of(code)[frame.f_lasti // 2]
            frame = frame.f_back
        return ()

    def _of(self, code: CodeType) -> list[End]:
        known = self._codes.get(id(code))
        if known is None:
            positions: Any = code.co_positions()  # type: ignore[attr-defined]  # Python 3.11
            ends = [() if line is None or column is None else (line, column) for _, line, _, column in positions]
            known = self._codes[id(code)] = (code, ends)
        return known[1]
