"""Ends an exchange that waits for too long.

TensorFlow's own timeouts of collectives let a thread sleep for the whole of the timeout for each collective, so that a
program that exchanges often runs out of threads; one thread watches all of them here.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable


class Watch:
    """Looks, from a thread of its own, whether the exchanges of a process go on."""

    def __init__(
        self,
        progress: Callable[[], int],
        seconds: float,
        late: Callable[[], None],
        busy: Callable[[], bool] | None = None,
    ) -> None:
        """Begin.

        Args:
            progress: gives a number that changes as exchanges begin and end, odd while one is under way, or where one
                did not end because its function failed.
            seconds: how long it may stay the same while it is odd.
            late: is called, once, when it has stayed so for longer.
            busy: says whether an exchange can be under way at all: `in_tensorflow` unless it is given.
        """
        self._progress, self._seconds, self._late = progress, seconds, late
        self._busy = busy or in_tensorflow
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recmigrate-ranks-watch", daemon=True)
        self._thread.start()
        # A thread that runs TensorFlow while Python ends would bring the process down.
        atexit.register(self.end)

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        last, since = 0, time.monotonic()
        while not self._ended.wait(min(1.0, self._seconds / 8)):
            number = self._progress()
            if number != last or number % 2 == 0 or not self._busy():
                last, since = number, time.monotonic()
            elif time.monotonic() - since > self._seconds:
                self._late()
                return


def in_tensorflow() -> bool:
    """Whether another thread of this process is in a call of TensorFlow, as one that exchanges is."""
    inside = os.path.join("tensorflow", "python", "")  # noqa: PTH118  # a part of a path, which ends with a separator
    return any(
        inside in frame.f_code.co_filename
        for thread, frame in sys._current_frames().items()
        if thread != threading.get_ident()
    )
