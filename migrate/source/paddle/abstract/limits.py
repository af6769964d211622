"""A bound on the memory that executing a program takes."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path

_STATE = Path("/proc/self/statm")
EXTRA = 2 * 1024**3  #: bytes of address space beyond what the process has


@contextlib.contextmanager
def bounded_memory(extra: int = EXTRA) -> Iterator[None]:
    """Limit the address space of this process while a program is executed; beyond it Python raises MemoryError."""
    try:
        used = int(_STATE.read_text().split()[0]) * resource.getpagesize()
    except OSError:
        yield  # this system does not tell
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + extra
    if hard == resource.RLIM_INFINITY or wanted < hard:
        bound = wanted if soft == resource.RLIM_INFINITY else min(soft, wanted)
        resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
