"""Ends exchanges that wait for too long.

TensorFlow's own timeout blocks a thread for its whole duration for each collective, so a program with many exchanges
would run out of threads; here a single thread watches all of them.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence


class Watch:
    """Checks from its own thread that the exchanges of a process make progress."""

    def __init__(
        self,
        progress: Callable[[], Sequence[int]],
        seconds: float,
        late: Callable[[], None],
        busy: Callable[[], bool] | None = None,
    ) -> None:
        """Start watching.

        Args:
            progress: returns for each lane a number that changes as exchanges begin and end; odd while one runs, or if
                one did not end because its function failed.
            seconds: how long a number may be odd and unchanged.
            late: called once when that time is exceeded.
            busy: returns whether an exchange can be running at all; default: `in_tensorflow`.
        """
        self._progress, self._seconds, self._late = progress, seconds, late
        self._busy = busy or in_tensorflow
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recmigrate-ranks-watch", daemon=True)
        self._thread.start()
        # A thread that runs TensorFlow while Python shuts down would crash the process.
        atexit.register(self.end)

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        last: list[int] = []
        since: list[float] = []
        while not self._ended.wait(min(1.0, self._seconds / 8)):
            numbers, busy, now = list(self._progress()), self._busy(), time.monotonic()
            moved = [not busy or number % 2 == 0 for number in numbers]
            if last:
                moved = [one or number != was for one, number, was in zip(moved, numbers, last, strict=True)]
            since = [now if one else begun for one, begun in zip(moved, since or [now] * len(moved), strict=True)]
            last = numbers
            if max(now - begun for begun in since) > self._seconds:
                self._late()
                return


def in_tensorflow() -> bool:
    """Whether another thread of this process is in a call of TensorFlow, as a thread in an exchange is."""
    inside = os.path.join("tensorflow", "python", "")  # noqa: PTH118  # part of a path, with a separator at its end
    return any(
        inside in frame.f_code.co_filename
        for thread, frame in sys._current_frames().items()
        if thread != threading.get_ident()
    )
