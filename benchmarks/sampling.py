"""Tells whose CPU time a part of a program takes: its own code's, or that of TensorFlow, which it calls."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType

__all__ = ["Sampled"]

_EVERY = 0.002
#: What only reads a graph is counted as time of who asks.
_READING = (
    *("inputs", "outputs", "control_inputs", "node_def", "get_attr", "traceback", "type", "name"),
    *("get_operation_by_name", "get_tensor_by_name", "get_operations", "is_compatible_with", "MakeNdarray"),
)


class Sampled:
    """Seconds of CPU time in which `packages` ran themselves, and by function of TensorFlow those in which that did.

    A timer of CPU time interrupts the program every 2 ms to look at the stack: what is innermost counts. A call into
    TensorFlow that takes longer than that counts with all that has passed.
    """

    def __init__(self, *packages: str) -> None:
        """Take the names of folders in the repository's root."""
        self._packages = tuple(f"/{name}/" for name in packages)
        self.own = 0.0
        self.inside: dict[str, float] = {}
        self._last = 0.0

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count what runs in here."""
        before = signal.signal(signal.SIGPROF, self._tick)
        self._last = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, _EVERY, _EVERY)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            self._count(None)
            signal.signal(signal.SIGPROF, before)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        self._count(self._called(frame))

    def _count(self, called: str | None) -> None:
        now = time.process_time()
        passed, self._last = now - self._last, now
        if called is None or called in _READING:
            self.own += passed
        else:
            self.inside[called] = self.inside.get(called, 0.0) + passed

    def _called(self, frame: FrameType | None) -> str | None:
        """Return the function of TensorFlow that the innermost function of the packages called; None in that itself."""
        called = None
        while frame is not None:
            file = frame.f_code.co_filename
            if "/tensorflow/" in file:
                called = frame.f_code.co_name
            elif any(package in file for package in self._packages):
                break
            frame = frame.f_back
        return called
