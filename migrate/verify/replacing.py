"""Functions of frameworks, replaced while a program runs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def replaced(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    """Give attributes of owners, by name, other values while the block runs."""
    with contextlib.ExitStack() as stack:
        for owner, name, value in changes:
            stack.callback(setattr, owner, name, vars(owner).get(name, getattr(owner, name)))
            setattr(owner, name, value)
        yield


@contextlib.contextmanager
def around(*changes: tuple[Any, str, Callable[..., Any]]) -> Iterator[None]:
    """Let `call(stock, ...)` be made of calls of each function, given as (owner, name, call), while the block runs."""
    with contextlib.ExitStack() as stack:
        for owner, name, call in changes:
            stack.enter_context(replaced((owner, name, _calling(getattr(owner, name), call))))
        yield


def _calling(stock: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(stock)(lambda *args, **named: call(stock, *args, **named))
