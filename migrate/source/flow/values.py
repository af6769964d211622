"""Abstract values: what an expression may evaluate to. There is one value for each allocation site."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import libcst as cst


@dataclass(eq=False)
class Value:
    """One abstract value: everything that one expression, definition or import creates, however often it runs."""

    node: cst.CSTNode | None  #: the allocation site; None for an imported name


class Constant(Value):
    """A literal: a number, a string, True, False or None."""


def is_none(value: Value) -> bool:
    """True if the value is the constant None."""
    return isinstance(value, Constant) and isinstance(value.node, cst.Name) and value.node.value == "None"


class Computed(Value):
    """The result of an operator, or of an expression that the analysis does not model."""


@dataclass(eq=False)
class Symbol(Value):
    """A qualified name that is defined outside of the program, such as `tensorflow.nn.embedding_lookup`."""

    name: str


@dataclass(eq=False)
class Result(Value):
    """The return value of a call to external code; `node` is the call."""

    callee: Value


@dataclass(eq=False)
class Member(Value):
    """An attribute of a value that external code created, or a method of a container."""

    base: Value
    name: str  #: `[]` for an entry
    key: object = None  #: the key of an entry


@dataclass(eq=False)
class Function(Value):
    """A function or a lambda that the program defines."""

    open: bool = False  #: open world: unanalysed code may call it


@dataclass(eq=False)
class Class(Value):
    """A class that the program defines."""


@dataclass(eq=False)
class Bound(Value):
    """A bound method: a function with its receiver."""

    function: Function
    receiver: Value


@dataclass(eq=False)
class SuperProxy(Value):
    """The proxy that `super()` returns in a method of `cls`."""

    cls: Class
    receiver: Value


@dataclass(eq=False)
class RecordType(Value):
    """The class that `collections.namedtuple` returns."""

    names: tuple[str, ...]


@dataclass(eq=False)
class Partial(Value):
    """The object that `functools.partial` returns; `node` is the call."""


@dataclass(eq=False)
class Unknown(Value):
    """Any value at all: what unanalysed code may have stored there."""

    reason: str


class Tainted(Unknown):
    """Any value, stored by unanalysed code in a container or object that escaped to it."""


@dataclass(eq=False)
class Holder(Value):
    """An allocated object that holds other values: an instance, a list, a dict or a namespace."""

    kind: str  #: `list`, `dict`, `object`, `namespace`, `record` (a named tuple), `context` or `module`
    cls: Class | None = None
    names: tuple[str, ...] = ()  #: the field names of a record, in order
    part: Hashable = None  #: distinguishes several holders that are allocated at the same node


#: The reason of an `Unknown` parameter when all that is known is that an external decorator receives the function.
DECORATED = "its decorator may call it"


class Anything:
    """The type of `ANY`, the key that is not known and may equal every other key."""

    def __repr__(self) -> str:
        return "*"


ANY = Anything()


@dataclass(frozen=True)
class Pattern:
    """A string key of which only the prefix and the suffix are known, such as `"b_%d" % i`."""

    start: str
    end: str

    def fits(self, key: object) -> bool:
        """True if `key` may be one of the strings that this pattern describes."""
        if isinstance(key, Pattern):
            starts = self.start.startswith(key.start) or key.start.startswith(self.start)
            return starts and (self.end.endswith(key.end) or key.end.endswith(self.end))
        whole = isinstance(key, str) and len(key) >= len(self.start) + len(self.end)
        return whole and str(key).startswith(self.start) and str(key).endswith(self.end)


@dataclass(frozen=True)
class From:
    """Any list index that is not below `start`."""

    start: int

    def fits(self, key: object) -> bool:
        """True if `key` may be one of these indices."""
        return isinstance(key, From) or (isinstance(key, int) and key >= self.start)


def compatible(first: object, second: object) -> bool:
    """True if two keys may be equal."""
    if first is ANY or second is ANY:
        return True
    if isinstance(first, (Pattern, From)):
        return first.fits(second)
    if isinstance(second, (Pattern, From)):
        return second.fits(first)
    return first == second
