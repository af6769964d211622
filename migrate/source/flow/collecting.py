"""Python's collector of garbage, and an analysis that makes none."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_collections() -> Iterator[None]:
    """Let the collector rest: all that an analysis makes is kept, and to look through it again and again takes longer.

    On 60,000 lines more than half of the time went there. mypy rests it while it builds, for the same reason. At the
    end, what was made counts as old at once: else the collector goes through all of it three times when it wakes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else what others froze would thaw
            gc.freeze()
            gc.unfreeze()
        gc.enable()
