"""Which lines of the program ran: a trace function that listens in the program's own files only."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from .program import Program

#: Part of the names of files that AutoGraph writes.
GENERATED = "__autograph_generated_file"

_Trace = Callable[[FrameType, str, Any], Any]


class Lines:
    """Collects the lines that run, of all threads that are started through `threading`."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._files: dict[str, set[int] | None] = {}
        #: By the id of a code object, which its entry keeps alive: the trace function of its frames.
        self._codes: dict[int, tuple[CodeType, _Trace | None]] = {}

    def start(self) -> None:
        """Listen from now on, in frames that begin later."""
        threading.settrace(self._called)
        sys.settrace(self._called)

    @property
    def are_heard(self) -> bool:
        """Whether this thread listens."""
        return sys.gettrace() == self._called

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Do not listen in what the block calls, which must not call the program."""
        if not self.are_heard:
            yield
            return
        sys.settrace(None)
        try:
            yield
        finally:
            sys.settrace(self._called)

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Listen in what the block calls, also inside of a pause."""
        before = sys.gettrace()
        if before is not None:
            yield
            return
        sys.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)

    def found(self) -> dict[str, set[int]]:
        """Return name of file -> lines that ran, as code objects name files."""
        return {name: set(lines) for name, lines in list(self._files.items()) if lines}

    def _called(self, frame: FrameType, _event: str, _given: Any) -> _Trace | None:
        code = frame.f_code
        try:
            lines = self._files[code.co_filename]
        except KeyError:
            lines = self._first(code.co_filename)
        if lines is None:
            return None
        known = self._codes.get(id(code))
        if known is None:
            known = self._codes[id(code)] = (code, self._listener(code, lines))
        return known[1]

    def _first(self, name: str) -> set[int] | None:
        own = GENERATED in name or self._program.path(name) is not None
        lines = self._files[name] = set() if own else None
        return lines

    def _listener(self, code: CodeType, lines: set[int]) -> _Trace:
        """Return a trace function that goes silent once all lines of the code have run."""
        left = {line for _, _, line in code.co_lines() if line} - lines
        if code.co_name != "<module>":
            left.discard(code.co_firstlineno)  # the line of `def` has no event of its own
        codes = self._codes

        def listen(frame: FrameType, event: str, _given: Any) -> _Trace:
            if event == "line" and frame.f_lineno in left:
                left.discard(frame.f_lineno)
                lines.add(frame.f_lineno)
            if not left:
                codes[id(code)] = (code, None)
                frame.f_trace_lines = False
            return listen

        return listen
