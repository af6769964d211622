"""Python state that outlives a call of `forward`: Paddle sees it change at every step, a graph is built once.

An attribute that `forward` reads and later sets, and a list or dict from before the call that it changes, carry
something from one step to the next. What is set before it is read is the same at every step, and no obstacle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from migrate.source.paddle.mapping.values import Class, Instance, Module, Once, Refuse, Value

COUNTED = "it changes from one step to the next, and a graph is built only once"


@dataclass
class Lasting:
    """What there is before `forward` is followed, and what was read of it."""

    begun: bool = False
    where: str = "`forward`"
    containers: dict[int, Value] = field(default_factory=dict)  #: lists and dicts, kept so that no id is used again
    read: set[tuple[int, str]] = field(default_factory=set)
    written: set[tuple[int, str]] = field(default_factory=set)

    def begin(self, modules: Iterable[Module], instances: Iterable[Instance]) -> None:
        """Look at everything that `forward` can reach."""
        self.begun = True
        for module in modules:
            for value in module.names.values():
                self.keep(value)
        for instance in instances:
            for value in instance.attributes.values():
                self.keep(value)

    def keep(self, value: Value) -> None:
        """Remember a value that outlives the call, with what is in it."""
        if isinstance(value, Class):
            value = value.constants
        if not isinstance(value, list | tuple | dict) or id(value) in self.containers:
            return
        self.containers[id(value)] = value
        for item in value.values() if isinstance(value, dict) else value:
            self.keep(item)

    def reads(self, owner: Value, name: str) -> None:
        """Note that an attribute is read."""
        if self.begun and isinstance(owner, Instance) and (id(owner), name) not in self.written:
            self.read.add((id(owner), name))

    def writes(self, owner: Instance, name: str) -> None:
        """Note that an attribute is set; raises `Refuse` when the value of the call before was read."""
        if self.begun and (id(owner), name) in self.read:
            raise Refuse(f"`{name}` is read and then set in `forward`: {COUNTED}")
        if self.begun:
            self.written.add((id(owner), name))

    def changes(self, container: Value) -> None:
        """Note that a list or dict is changed; raises `Refuse` when it was there before the call."""
        if self.begun and id(container) in self.containers:
            kind = type(container).__name__
            raise Refuse(f"{self.where} changes a {kind} that was made before it: {COUNTED}")

    def consumes(self, items: Value) -> None:
        """Note that items are gone through; raises `Refuse` for an iterator that has no items left by then."""
        if not isinstance(items, Once):
            return
        if items.spent or (self.begun and not items.in_forward):
            raise Refuse("an iterator gives its items once: make a list of it")
        items.spent = True
