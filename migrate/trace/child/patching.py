"""Puts a function of ours around one of TensorFlow's."""

from __future__ import annotations

import functools
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

    wrapped._recmigrate = (*done, key)  # type: ignore[attr-defined]
    setattr(owner, name, wrapped)
