"""A stand-in for `nvtx`, whose marks NVIDIA's profiler reads; programs of SOK import it. Its marks do nothing here."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

_said: list[bool] = []


def _say() -> None:
    if not _said:
        _said.append(True)
        print("runtime.compat.sok: nvtx is not installed: its marks do nothing", file=sys.stderr, flush=True)


class annotate(contextlib.ContextDecorator):
    """A block or a function without a mark."""

    def __init__(self, message: Any = None, color: Any = None, domain: Any = None, category: Any = None) -> None:
        """Take what the mark would show."""
        _say()

    def __enter__(self) -> annotate:
        """Begin the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the block."""


def _mark(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""
    _say()


CONTENTS: dict[str, Callable[..., Any]] = {
    "annotate": annotate,
    **dict.fromkeys(("start_range", "end_range", "push_range", "pop_range", "mark"), _mark),
}
