"""Counts training steps, and ends the program after as many as were asked for."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable

#: How often the program may catch the exception that ends it.
CATCHES = 3


class TracedEnough(SystemExit):
    """Ends the program after the steps that were asked for; the program may close what is open, as on `sys.exit`."""

    def __init__(self) -> None:
        super().__init__(0)


class Steps:
    """The training steps of this process."""

    def __init__(self, most: int, write: Callable[[bool], None]) -> None:
        self._most, self._write = most, write
        self._lock = threading.Lock()
        self._local = threading.local()
        self._ends = 0
        self.count = 0
        self.training: set[int] = set()  #: ids of functions whose calls are training steps, which are kept alive

    @property
    def is_over(self) -> bool:
        """Whether the program was told to end."""
        return self._ends > 0

    def took(self) -> None:
        """Count a step that a session or a function has finished.

        Raises:
            TracedEnough: it was the last.
        """
        with self._lock:
            self.count += not self._ends
            over = bool(self._most) and self.count >= self._most
            self._ends += over
        at_once = self._ends > CATCHES or threading.current_thread() is not threading.main_thread()
        self._write(over and at_once)
        if over and at_once:
            end_now()
        if over:
            raise TracedEnough

    def applied(self, eager: bool) -> None:
        """Note that an optimizer has updated: a step if eagerly, else the function that is called takes steps."""
        function = getattr(self._local, "function", None)
        if function is not None:
            self.training.add(id(function))
        elif eager:
            self.took()

    def enter(self, function: object) -> bool:
        """Note that a function is called; return whether it is not called by another."""
        if getattr(self._local, "function", None) is not None:
            return False
        self._local.function = function
        return True

    def leave(self, function: object, done: bool) -> None:
        """Note that the outermost function was left; a step if it is one that trains, and is `done`."""
        self._local.function = None
        if done and id(function) in self.training:
            self.took()


def end_now() -> None:
    """End the process, whose program catches what ends it, after its last output was written."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed
            stream.flush()
    os._exit(0)
