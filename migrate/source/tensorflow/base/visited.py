"""Graph traversal that visits each item once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def reached(start: T, steps: Callable[[T], Iterable[T]], key: Callable[[T], Hashable] = id) -> Iterator[T]:
    """Yield `start` and everything reachable from it by `steps`, breadth first, each item once by its `key`."""
    return all_reached([start], steps, key)


def all_reached(
    starts: Iterable[T], steps: Callable[[T], Iterable[T]], key: Callable[[T], Hashable] = id
) -> Iterator[T]:
    """Yield several items and everything reachable from them, in the same way.

    It ends since source text is finite, even for cyclic bindings: `loss = loss + x` in a loop, or attributes that a
    class of another file sets first.
    """
    items = list({key(start): start for start in starts}.values())
    seen = {key(item) for item in items}
    for item in items:
        yield item
        for new in steps(item):
            if key(new) not in seen:
                seen.add(key(new))
                items.append(new)


def itself(item: Hashable) -> Hashable:
    """Return an item, as the key of items that are one where they are equal."""
    return item
