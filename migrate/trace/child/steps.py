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
        self._ends = 0
        self.count = 0

    @property
    def is_over(self) -> bool:
        """Whether the program was told to end."""
        return self._ends > 0

    def took(self) -> None:
        """Count a step that a session or a model of Keras has finished.

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


def end_now() -> None:
    """End the process, whose program catches what ends it, after its last output was written."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed
            stream.flush()
    os._exit(0)
