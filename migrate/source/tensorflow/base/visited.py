"""Graph traversal that visits each item once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def reached(start: T, steps: Callable[[T], Iterable[T]], key: Callable[[T], Hashable] = id) -> Iterator[T]:
    """Yield `start` and everything reachable from it by `steps`, breadth first, each item once by its `key`.

    It ends since source text is finite, even for cyclic bindings: `loss = loss + x` in a loop, or attributes that a
    class of another file sets first.
    """
    found, seen = [start], {key(start)}
    for one in found:
        yield one
        for new in steps(one):
            if key(new) not in seen:
                seen.add(key(new))
                found.append(new)
