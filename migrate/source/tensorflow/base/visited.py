"""One walk for all questions that follow expressions: what is reached again is not followed again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def reached(start: T, steps: Callable[[T], Iterable[T]], key: Callable[[T], Hashable] = id) -> Iterator[T]:
    """Yield `start` and all that `steps` lead to from it, nearest first, each once by its `key`.

    Source text is finite, so this ends however the program binds names in circles: `loss = loss + x` in a loop, or
    attributes that a class of another file sets first.
    """
    found, seen = [start], {key(start)}
    for one in found:
        yield one
        for new in steps(one):
            if key(new) not in seen:
                seen.add(key(new))
                found.append(new)
