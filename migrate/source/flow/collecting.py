"""Python's collector of garbage, and an analysis that makes none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collections() -> Iterator[None]:
    """Let the collector rest: all that an analysis makes is kept, and to look through it again and again takes longer.

    On 60,000 lines more than half of the time went there. mypy rests it while it builds, for the same reason.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
