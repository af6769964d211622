"""The values of the interpreter: Python's own values, and symbolic tensors, layers and initialisers.

Numbers, strings, lists, tuples and dicts of a constructor are ordinary Python objects (so aliasing and `append` behave
as at run time); values of Paddle are instances of the classes below.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

Value: TypeAlias = Any  #: a Python value or one of the symbolic values of this module
Shape: TypeAlias = tuple[int | None, ...]  #: None is a size that is known only at run time, such as the batch size
Span: TypeAlias = tuple[
    int, int, int, int
]  #: first line, column, last line, column; lines from 1, columns in characters


class Refuse(Exception):
    """A construct cannot be converted; the message is the reason."""


class Stop(Exception):
    """Ends the interpretation; the problem has been recorded."""


class Unknown:
    """The result of an unsupported construct; operations on it are not reported again."""


UNKNOWN = Unknown()


class RawInput:
    """The raw input of the model, with all its columns."""


RAW_INPUT = RawInput()


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor computed from the input; `shape` is None if it is unknown."""

    shape: Shape | None
    dtype: str = "float32"


class Once(list[Any]):
    """The items of an iterator (`zip`, a generator), which can be used only once."""

    def __init__(self, items: Iterable[Any], in_forward: bool) -> None:
        super().__init__(items)
        self.spent, self.in_forward = False, in_forward


@dataclass(frozen=True)
class BatchSize:
    """A size of a tensor that is known only at run time."""


@dataclass(frozen=True)
class Api:
    """A dotted name of the framework or of another module."""

    name: str


@dataclass(frozen=True)
class Initializer:
    """The initialiser of a parameter."""

    name: str  #: Paddle's class name
    arguments: dict[str, Value]


@dataclass(frozen=True)
class ParamAttr:
    """A `paddle.ParamAttr`, of which only the initialiser is converted."""

    initializer: Initializer | None


@dataclass(eq=False)
class LayerValue:
    """A value that Paddle registers as a sublayer."""

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
        """True if `forward` calls the layer."""
        return self.fed_raw or self.fed_tensor


@dataclass(eq=False)
class Activation(LayerValue):
    """A layer without parameters, such as `nn.ReLU()`."""

    function: str = ""  #: the equivalent function of the functional API
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
    """A class of the converted file, or of its trainer."""

    name: str
    node: ast.ClassDef
    module: Module
    base: Class | None
    is_layer: bool
    constants: dict[str, Value] = field(default_factory=dict)  #: assignments in its body, without functions

    def find(self, name: str) -> tuple[ast.FunctionDef, Class] | None:
        """Return a method and the class that defines it, which may be a base class; None if there is none."""
        for item in reversed(self.node.body):  # the last of several definitions counts
            if isinstance(item, ast.FunctionDef) and item.name == name:
                return item, self
        return self.base.find(name) if self.base else None

    def constant(self, name: str) -> Value:
        """Return a constant of the class or of a base class; raises KeyError."""
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
    """A bound method of a tensor, a container or a Python value."""

    receiver: Value
    name: str


@dataclass(frozen=True)
class Config:
    """The configuration object of a trainer, with flattened keys: `config.get("a.b", default)`."""

    values: dict[str, Value]
    known: bool = True  #: False if there is no config.yaml


@dataclass(eq=False)
class Module:
    """A parsed file and its top-level names."""

    path: str
    text: str
    tree: ast.Module
    names: dict[str, Value] = field(default_factory=dict)
    _spans: dict[int, tuple[ast.AST, Span]] = field(
        default_factory=dict
    )  #: id of a node -> the node, kept alive, and its span

    @cached_property
    def lines(self) -> list[str]:
        """The lines as the parser counts them; a form feed or a Unicode separator does not end a line."""
        return re.split(r"\r\n|\r|\n", self.text)

    def span(self, node: ast.AST) -> Span:
        """Return a node's position with columns in characters, as libcst counts them (`ast` counts bytes)."""
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
    """Yield (path in Paddle, layer) below `layer`; the first of several names of a layer counts, as in Paddle."""
    seen: set[int] = {id(layer)}

    def walk(parent: LayerValue, prefix: str) -> Iterator[tuple[str, LayerValue]]:
        for name, child in parent.sublayers.items():
            if id(child) not in seen:
                seen.add(id(child))
                yield prefix + name, child
                yield from walk(child, prefix + name + ".")

    yield from walk(layer, "")


def mentions(value: Value, kind: type | tuple[type, ...]) -> bool:
    """Return whether `value` is or contains, in lists, tuples and dicts, an instance of `kind`."""
    if isinstance(value, kind):
        return True
    if isinstance(value, list | tuple):
        return any(mentions(item, kind) for item in value)
    return isinstance(value, dict) and any(mentions(item, kind) for item in value.values())
