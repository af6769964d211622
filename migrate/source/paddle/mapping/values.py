"""What the abstract interpreter computes with: Python's own values, and stand-ins for tensors, layers and initialisers.

Numbers, strings, lists, tuples and dicts of a constructor are ordinary Python objects (so aliasing and `append` behave
as they do at run time); everything that belongs to Paddle is one of the classes below.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

Value: TypeAlias = Any  #: a Python value or one of the stand-ins of this module
Shape: TypeAlias = tuple[int | None, ...]  #: None is a size that is known at run time only, as the batch
Span: TypeAlias = tuple[
    int, int, int, int
]  #: first line, column, last line, column; lines from 1, columns in characters


class Refuse(Exception):
    """One construct cannot be carried over; the text says why."""


class Stop(Exception):
    """The interpretation cannot go on; the problem has been recorded."""


class Unknown:
    """The result of something refused: whatever is done with it is not reported a second time."""


UNKNOWN = Unknown()


class RawInput:
    """The model's input itself, all its columns, in whatever variable or list it travels."""


RAW_INPUT = RawInput()


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor computed from the input; `shape` is None when it cannot be told."""

    shape: Shape | None
    dtype: str = "float32"


class Once(list[Any]):
    """The items of an iterator (`zip`, a generator): gone through once, there are none left."""

    def __init__(self, items: Iterable[Any], in_forward: bool) -> None:
        super().__init__(items)
        self.spent, self.in_forward = False, in_forward


@dataclass(frozen=True)
class BatchSize:
    """A size read off a tensor that is known at run time only."""


@dataclass(frozen=True)
class Api:
    """A dotted name of the framework or of another module, not called yet."""

    name: str


@dataclass(frozen=True)
class Initializer:
    """How a parameter starts."""

    name: str  #: Paddle's class name
    arguments: dict[str, Value]


@dataclass(frozen=True)
class ParamAttr:
    """`paddle.ParamAttr`: only its initialiser reaches the converted code."""

    initializer: Initializer | None


@dataclass(eq=False)
class LayerValue:
    """Anything Paddle registers as a sublayer."""

    span: Span
    sublayers: dict[str, LayerValue] = field(default_factory=dict)


@dataclass(eq=False)
class Linear(LayerValue):
    """One `nn.Linear` object."""

    in_features: int = 0
    out_features: int = 0
    weight: Initializer | None = None
    bias: Initializer | bool | None = None
    fed_raw: bool = False
    fed_tensor: bool = False

    @property
    def used(self) -> bool:
        """True when `forward` calls it."""
        return self.fed_raw or self.fed_tensor


@dataclass(eq=False)
class Activation(LayerValue):
    """A layer without parameters, such as `nn.ReLU()`."""

    function: str = ""  #: the functional API it stands for
    arguments: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False)
class Container(LayerValue):
    """`nn.Sequential` or `nn.LayerList`."""

    kind: str = "LayerList"

    @property
    def items(self) -> list[LayerValue]:
        """The layers in order."""
        return list(self.sublayers.values())


@dataclass(eq=False)
class Class:
    """A class of the converted file (or of a file beside it)."""

    name: str
    node: ast.ClassDef
    module: Module
    base: Class | None
    is_layer: bool
    constants: dict[str, Value] = field(default_factory=dict)  #: what its body assigns, other than functions

    def find(self, name: str) -> tuple[ast.FunctionDef, Class] | None:
        """Return the method and the class that defines it, along the line of bases."""
        for item in reversed(self.node.body):  # of two definitions the last counts
            if isinstance(item, ast.FunctionDef) and item.name == name:
                return item, self
        return self.base.find(name) if self.base else None

    def constant(self, name: str) -> Value:
        """Return a value that the class body assigns, along the line of bases; raises KeyError."""
        if name in self.constants or self.base is None:
            return self.constants[name]
        return self.base.constant(name)


@dataclass(eq=False)
class Instance(LayerValue):
    """An object of a class of the file."""

    cls: Class | None = None
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Function:
    """A function of the file, or a method bound to `receiver`."""

    node: ast.FunctionDef
    module: Module
    owner: Class | None = None
    receiver: Instance | None = None


@dataclass(frozen=True)
class Super:
    """`super(...)` inside a method of `owner`."""

    owner: Class
    receiver: Instance


@dataclass(frozen=True)
class Method:
    """A method of a tensor, a container or a Python value, not called yet."""

    receiver: Value
    name: str


@dataclass(frozen=True)
class Config:
    """The configuration object of a trainer: `config.get("a.b", default)` on the flattened yaml."""

    values: dict[str, Value]
    known: bool = True  #: False without a config.yaml: what it would say cannot be told


@dataclass(eq=False)
class Module:
    """One parsed file: its names and where they come from."""

    path: str
    text: str
    tree: ast.Module
    names: dict[str, Value] = field(default_factory=dict)
    _spans: dict[int, tuple[ast.AST, Span]] = field(default_factory=dict)  #: of each node, which is kept with its id

    @cached_property
    def lines(self) -> list[str]:
        """The lines as the parser counts them: a form feed or a Unicode separator does not end one."""
        return re.split(r"\r\n|\r|\n", self.text)

    def span(self, node: ast.AST) -> Span:
        """Return a node's place with columns in characters, as libcst counts them (`ast` counts bytes)."""
        known = self._spans.get(id(node))
        if known is None:
            known = self._spans[id(node)] = node, self._span(node)
        return known[1]

    def _span(self, node: ast.AST) -> Span:
        lines = self.lines

        def column(line: int, offset: int) -> int:
            return len(lines[line - 1].encode()[:offset].decode(errors="replace"))

        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        return (
            first,
            column(first, getattr(node, "col_offset", 0)),
            last,
            column(last, getattr(node, "end_col_offset", 0)),
        )


def named_layers(layer: LayerValue) -> Iterator[tuple[str, LayerValue]]:
    """Yield (Paddle's path, layer) below `layer`; of two names for one layer the first counts, as in Paddle."""
    seen: set[int] = {id(layer)}

    def walk(parent: LayerValue, prefix: str) -> Iterator[tuple[str, LayerValue]]:
        for name, child in parent.sublayers.items():
            if id(child) not in seen:
                seen.add(id(child))
                yield prefix + name, child
                yield from walk(child, prefix + name + ".")

    yield from walk(layer, "")


def mentions(value: Value, kind: type | tuple[type, ...]) -> bool:
    """Return whether a value of `kind` is in `value`, also inside lists, tuples and dicts."""
    if isinstance(value, kind):
        return True
    if isinstance(value, list | tuple):
        return any(mentions(item, kind) for item in value)
    return isinstance(value, dict) and any(mentions(item, kind) for item in value.values())
