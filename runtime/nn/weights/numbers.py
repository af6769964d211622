"""Numbers in names: how many layers, and weights of a layer, of each kind there are in a graph."""

from __future__ import annotations

from collections import Counter
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

_numbers: WeakKeyDictionary[Any, Counter[str]] = WeakKeyDictionary()


def numbered(kind: str) -> str:
    """Return the next name of a kind in the default graph: `linear_0`, then `linear_1`."""
    numbers = numbers_of(tf.compat.v1.get_default_graph())
    numbers[kind] += 1
    return f"{kind}_{numbers[kind] - 1}"


def numbers_of(graph: Any) -> Counter[str]:
    """Return the numbers of a graph."""
    return _numbers.setdefault(graph, Counter())


def set_numbers(graph: Any, numbers: Counter[str]) -> None:
    """Set the numbers of a graph."""
    _numbers[graph] = numbers
