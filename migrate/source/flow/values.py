"""What an expression may be when the program runs: abstract values, one for each place that makes something."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import libcst as cst


@dataclass(eq=False)
class Value:
    """What one expression, definition or import makes, however often it runs."""

    node: cst.CSTNode | None  #: where it is made; None for what an import brings


class Constant(Value):
    """A number, a text, True, False or None."""


def is_none(value: Value) -> bool:
    """True for None."""
    return isinstance(value, Constant) and isinstance(value.node, cst.Name) and value.node.value == "None"


class Computed(Value):
    """The result of an operator, or of code that is not followed further."""


@dataclass(eq=False)
class Symbol(Value):
    """A name from outside of the program, such as `tensorflow.nn.embedding_lookup`."""

    name: str


@dataclass(eq=False)
class Result(Value):
    """What a call of outside code returns; `node` is the call."""

    callee: Value


@dataclass(eq=False)
class Member(Value):
    """An attribute of what outside code made, or a method of a container."""

    base: Value
    name: str  #: `[]` for an entry
    key: object = None  #: under which an entry stands


@dataclass(eq=False)
class Function(Value):
    """A function or a lambda of the program."""

    open: bool = False  #: code that is not seen may call it


@dataclass(eq=False)
class Class(Value):
    """A class of the program."""


@dataclass(eq=False)
class Bound(Value):
    """A method with the object that it is called on."""

    function: Function
    receiver: Value


@dataclass(eq=False)
class Above(Value):
    """What `super()` gives in a method of `cls`."""

    cls: Class
    receiver: Value


@dataclass(eq=False)
class RecordType(Value):
    """What `collections.namedtuple` makes."""

    names: tuple[str, ...]


@dataclass(eq=False)
class Partial(Value):
    """What `functools.partial` makes of a call; `node` is the call."""


@dataclass(eq=False)
class Unknown(Value):
    """Anything: what code that is not seen may have put there."""

    reason: str


class Spoiled(Unknown):
    """What code that is not seen may have put into a holder that it has."""


@dataclass(eq=False)
class Holder(Value):
    """What holds other values: an object of a class, a list, a dict, a namespace."""

    kind: str  #: `list`, `dict`, `object`, `namespace`, `record` (a tuple with named places), `context` or `module`
    cls: Class | None = None
    names: tuple[str, ...] = ()  #: of the places of a record
    part: Hashable = None  #: tells several of one place apart


#: Why a parameter may be anything, where no more is known than that a decorator from outside gets the function.
DECORATED = "its decorator may call it"


class Anything:
    """A key that is not known, which may be any."""

    def __repr__(self) -> str:
        return "*"


ANY = Anything()


@dataclass(frozen=True)
class Pattern:
    """A key of which only the beginning and the end are known, such as `"b_%d" % i`."""

    start: str
    end: str

    def fits(self, key: object) -> bool:
        """True when the key may be one of these."""
        if isinstance(key, Pattern):
            starts = self.start.startswith(key.start) or key.start.startswith(self.start)
            return starts and (self.end.endswith(key.end) or key.end.endswith(self.end))
        whole = isinstance(key, str) and len(key) >= len(self.start) + len(self.end)
        return whole and str(key).startswith(self.start) and str(key).endswith(self.end)


@dataclass(frozen=True)
class From:
    """Any place in a list from that one on."""

    start: int

    def fits(self, key: object) -> bool:
        """True when the key may be one of these."""
        return isinstance(key, From) or (isinstance(key, int) and key >= self.start)


def compatible(first: object, second: object) -> bool:
    """True when two keys may be the same."""
    if first is ANY or second is ANY:
        return True
    if isinstance(first, Pattern | From):
        return first.fits(second)
    if isinstance(second, Pattern | From):
        return second.fits(first)
    return first == second
