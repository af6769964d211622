"""Tracks Python state that outlives a call of `forward`: it may change in every step in Paddle, but not in a graph.

State is carried from step to step by an attribute that `forward` reads and later sets, and by a list or dict that
exists before the call and that `forward` changes. An attribute that is set before it is read is no problem.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from migrate.source.paddle.mapping.values import Class, Instance, Module, Once, Refuse, Value

COUNTED = "it changes from step to step, but a graph is built only once"


@dataclass
class Lasting:
    """The state that exists before `forward` is interpreted, and which attributes of it were read."""

    begun: bool = False
    where: str = "`forward`"
    containers: dict[int, Value] = field(
        default_factory=dict
    )  #: lists and dicts by id, kept alive so that ids are not reused
    read: set[tuple[int, str]] = field(default_factory=set)
    written: set[tuple[int, str]] = field(default_factory=set)

    def begin(self, modules: Iterable[Module], instances: Iterable[Instance]) -> None:
        """Record everything that `forward` can reach."""
        self.begun = True
        for module in modules:
            for value in module.names.values():
                self.keep(value)
        for instance in instances:
            for value in instance.attributes.values():
                self.keep(value)

    def keep(self, value: Value) -> None:
        """Record a value that outlives the call, and its contents."""
        if isinstance(value, Class):
            value = value.constants
        if not isinstance(value, list | tuple | dict) or id(value) in self.containers:
            return
        self.containers[id(value)] = value
        for item in value.values() if isinstance(value, dict) else value:
            self.keep(item)

    def reads(self, owner: Value, name: str) -> None:
        """Record that an attribute is read."""
        if self.begun and isinstance(owner, Instance) and (id(owner), name) not in self.written:
            self.read.add((id(owner), name))

    def writes(self, owner: Instance, name: str) -> None:
        """Record that an attribute is set; raises `Refuse` if the value of the previous call was read."""
        if self.begun and (id(owner), name) in self.read:
            raise Refuse(f"`{name}` is read and then set in `forward`: {COUNTED}")
        if self.begun:
            self.written.add((id(owner), name))

    def changes(self, container: Value) -> None:
        """Check a change of a list or dict; raises `Refuse` if it existed before the call."""
        if self.begun and id(container) in self.containers:
            kind = type(container).__name__
            raise Refuse(f"{self.where} changes a {kind} that was created before it: {COUNTED}")

    def consumes(self, items: Value) -> None:
        """Check an iteration; raises `Refuse` for an iterator that was created before the call."""
        if not isinstance(items, Once):
            return
        if items.spent or (self.begun and not items.in_forward):
            raise Refuse("an iterator created before `forward` yields its items only once; make a list of it")
        items.spent = True
