"""Puts a function of ours around one of TensorFlow's."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Replace `owner.name`, if it is there, by what calls `around(original, *arguments, **settings)`; only once."""
    original = vars(owner).get(name)
    done = getattr(original, "_recmigrate", ())
    key = f"{around.__module__}.{around.__qualname__}"
    if original is None or key in done:
        return

    @functools.wraps(original)
    def wrapped(*arguments: Any, **settings: Any) -> Any:
        return around(original, *arguments, **settings)

    with contextlib.suppress(TypeError, ValueError):
        # `functools.wraps` is not enough for `inspect.getfullargspec`, which Keras 3 asks about layers.
        wrapped.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    wrapped._recmigrate = (*done, key)  # type: ignore[attr-defined]
    setattr(owner, name, wrapped)
