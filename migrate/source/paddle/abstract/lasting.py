"""State that outlives a pass: in Paddle it may change from step to step, but a graph is built once.

A pass carries state on by an attribute or a global name that it reads and later sets, by changing a list, a dict or an
array that was there before, by drawing Python's random numbers, and by making weights. What is set before it is read
is no state.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from migrate.source.paddle.abstract.values import (
    Class,
    Container,
    Function,
    Instance,
    Layer,
    LayerValue,
    Module,
    Refuse,
    Value,
    words,
)

_ONCE = "it changes from step to step, but a graph is built once"
_CHANGING = words(
    "add append appendleft clear discard extend fill insert pop popitem popleft remove reverse setdefault "
    "sort update add_sublayer add_parameter"
)


@dataclass
class Lasting:
    """What was there before the passes, and which attributes the current one has read and set."""

    begun: bool = False
    kept: dict[int, Value] = field(default_factory=dict)  #: id -> object, kept alive so that ids are not used again
    read: set[tuple[int, str]] = field(default_factory=set)
    written: set[tuple[int, str]] = field(default_factory=set)

    def begin(self, values: Iterable[Value]) -> None:
        """Begin a pass, before which there were these values and all that they hold."""
        self.begun = True
        self.read, self.written = set(), set()
        for value in values:
            self.keep(value)

    def keep(self, value: Value) -> None:
        """Record an object that outlives the pass, and what it holds."""
        left = [value]
        while left:
            lasting = left.pop()
            if isinstance(lasting, (bool, int, float, str, bytes, type(None))) or id(lasting) in self.kept:
                continue
            self.kept[id(lasting)] = lasting
            left += _held(lasting)

    def reads(self, owner: Value, name: str) -> None:
        """Record that an attribute, or a name of a file, is read."""
        if self.begun and id(owner) in self.kept and (id(owner), name) not in self.written:
            self.read.add((id(owner), name))

    def writes(self, owner: Value, name: str) -> None:
        """Record that it is set; raises `Refuse` if its value of the step before was read."""
        if not self.begun or id(owner) not in self.kept:
            return
        if (id(owner), name) in self.read:
            raise Refuse(f"`{name}` is read and then set: {_ONCE}; keep it out of the forward pass")
        self.written.add((id(owner), name))

    def changes(self, holder: Value, method: str = "append") -> None:
        """Raise `Refuse` for a change of what was there before the pass."""
        holds = isinstance(holder, (list, dict, set, deque, np.ndarray, Container))
        if self.begun and holds and method in _CHANGING and id(holder) in self.kept:
            raise Refuse(f"a {type(holder).__name__} that was created before is changed: {_ONCE}; make a new one")

    def takes(self, items: Value) -> None:
        """Raise `Refuse` for an iterator that was made before the pass, which gives its items once."""
        if self.begun and hasattr(items, "__next__") and id(items) in self.kept:
            raise Refuse(f"an iterator that was created before is used up: {_ONCE}; make a list of it")

    def draws(self, function: str = "") -> None:
        """Raise `Refuse` for a function that draws random numbers of Python or NumPy in a pass, or sets their seed."""
        if self.begun and function == "seed":
            raise Refuse("a seed that each step sets is set once, when the graph is built; set it before training")
        if self.begun:
            raise Refuse("a random number of Python is drawn once, when the graph is built; draw with `paddle.rand`")

    def makes_weights(self) -> None:
        """Raise `Refuse` for weights that are made in a pass."""
        if self.begun:
            raise Refuse(
                "a layer with weights is created in the forward pass, in each step again; make it in `__init__`"
            )


def _held(value: Value) -> list[Value]:
    """Return what an object holds."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple, set, deque)):
        return list(value)
    if isinstance(value, Instance):
        return [*value.attributes.values(), *value.sublayers.values(), value.cls, value.stock]
    if isinstance(value, Layer):
        return [*value.own.values(), *value.sublayers.values()]
    if isinstance(value, LayerValue):
        return list(value.sublayers.values())
    if isinstance(value, Module):
        return list(value.names.values())
    if isinstance(value, Class):
        return [*value.constants.values(), *value.bases, *value.closure]
    if isinstance(value, Function):
        return [*value.closure, value.receiver]
    return []


def is_random(value: Value) -> bool:
    """Return whether an object draws random numbers."""
    return isinstance(value, (np.random.RandomState, random.Random))
