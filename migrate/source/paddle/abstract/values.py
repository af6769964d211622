"""The values of an abstract execution: Python's own values, tensors of known shape and dtype, and objects of Paddle."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

Value: TypeAlias = Any  #: a Python value or one of the classes of this module
Shape: TypeAlias = tuple[int | None, ...]  #: None is a size that is known only when the model runs, such as the batch
#: A size that is known only when the model runs: a multiple of the batch's, or an object for a number of its own, such
#: as that of the elements that a mask chooses.
Extent: TypeAlias = Any
Span: TypeAlias = tuple[int, int, int, int]  #: line and column of the start and the end; columns in characters


def words(text: str) -> frozenset[str]:
    """Return the words of a text, such as names in a table."""
    return frozenset(text.split())


class Refuse(Exception):
    """A construct cannot be converted; the message is the reason."""


class Stop(Exception):
    """Ends the execution; the problem has been recorded."""


class Unknown:
    """The result of an unsupported construct; operations on it are not reported again."""

    def __repr__(self) -> str:
        return "an unknown value"


UNKNOWN = Unknown()


@dataclass(eq=False)
class Tensor:
    """A tensor. `shape` or `dtype` is None if it is unknown; `array` marks NumPy's view of it (`x.numpy()`).

    `changed` is the method that has changed it in place, so that the name no longer stands for what a graph computes.
    """

    shape: Shape | None
    dtype: str | None = "float32"
    array: bool = False
    fed: bool = False  #: whether it is of the batch, so that it has no gradient
    changed: str = ""
    sources: tuple[Tensor, ...] = field(default=(), repr=False)  #: what it was computed from, as gradients flow
    stopped: bool = False  #: `stop_gradient` was set
    lod: int = 0  #: 1: its rows are the items of sequences, of a static graph
    extent: Extent | None = None  #: what a size of it is that is not known; None: as what it was computed from
    numbers: Shape | None = None  #: its elements, where it is a shape or a size
    #: of remainders of int64 numbers: file and position of what divides them, and the divisor
    divided: tuple[tuple[str, Span], int] | None = None

    @property
    def rank(self) -> int | None:
        """The number of dimensions."""
        return None if self.shape is None else len(self.shape)

    @property
    def floating(self) -> bool:
        """Whether the elements are known to be floating point numbers."""
        return self.dtype is not None and self.dtype.startswith("float")


@dataclass(eq=False)
class Item(Tensor):
    """An item of a schema's batch with all of its values."""

    index: int = 0  #: its place in the batch
    whole: bool = False  #: whether it was cast to integers
    width: int | None = None  #: the columns that a reshape gave it


@dataclass(eq=False)
class OneHot(Item):
    """A model's input of a schema: rows of numbers and one-hot groups. Only `nn.Linear` reads it, as a lookup."""


@dataclass(frozen=True)
class Size:
    """A size of a tensor that is known only when the model runs: an integer in Paddle, a scalar tensor in a graph."""

    extent: Extent = 1


class Fetched:
    """What is known only in a step, in Python: an array of NumPy, or a number."""

    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __repr__(self) -> str:
        return "a value of a step"


@dataclass(frozen=True)
class Dtype:
    """A dtype: `paddle.float32`, `x.dtype`."""

    name: str | None


@dataclass(frozen=True)
class Api:
    """A dotted name of the framework or of another module."""

    name: str


@dataclass(frozen=True, eq=False)
class Described:
    """An object of Paddle that is kept as it is: an initializer, a `ParamAttr`, an optimizer, a metric."""

    name: str  #: Paddle's dotted name
    arguments: Mapping[str, Value] = field(default_factory=dict)


@dataclass(eq=False)
class Weight(Tensor):
    """A parameter, or a running value of a layer."""

    attr: Value = None
    trainable: bool = True
    place: tuple[str, Span] = ("", (1, 0, 1, 0))  #: file and position where it is made
    trainable_override: bool | None = None  #: whether it trains, where the program has set that after it was made

    @property
    def trains(self) -> bool:
        """Whether optimizers change it."""
        attr = self.attr
        left = isinstance(attr, Described) and attr.arguments.get("trainable") is False
        return self.trainable and not left if self.trainable_override is None else self.trainable_override


@dataclass(eq=False)
class LayerValue:
    """An object that Paddle registers as a sublayer."""

    path: str = ""  #: file in which it is made
    span: Span = (1, 0, 1, 0)
    sublayers: dict[str, LayerValue] = field(default_factory=dict)
    weights: dict[str, Weight] = field(default_factory=dict)
    training: bool = True


@dataclass(eq=False)
class Layer(LayerValue):
    """A layer of Paddle, such as one `nn.Linear`."""

    name: str = ""  #: Paddle's dotted name
    arguments: Mapping[str, Value] = field(default_factory=dict)
    calls: int = 0
    lookups: int = 0  #: calls on a model's one-hot input
    ids: list[Tensor] = field(default_factory=list)  #: what an embedding was called with
    own: dict[str, Value] = field(default_factory=dict)  #: attributes that the program sets
    whole_reads: list[tuple[str, Span]] = field(default_factory=list)  #: where the weight itself is read


@dataclass(eq=False)
class Container(LayerValue):
    """`nn.Sequential`, `nn.LayerList`, `nn.LayerDict` or `nn.ParameterList`."""

    kind: str = "LayerList"

    @property
    def items(self) -> list[Value]:
        """The layers or parameters in order."""
        return list((self.weights if self.kind == "ParameterList" else self.sublayers).values())


@dataclass(eq=False)
class Class:
    """A class of the program."""

    name: str
    node: ast.ClassDef
    module: Module
    bases: tuple[Value, ...]
    constants: dict[str, Value] = field(default_factory=dict)  #: assignments in its body
    closure: tuple[dict[str, Value], ...] = ()
    plain: type[Any] | None = None  #: of a data class: one of Python's with its fields

    @property
    def order(self) -> list[Class]:
        """The classes of the program in which an attribute is looked for, nearest first."""
        order = [self]
        for base in self.bases:
            if isinstance(base, Class):
                order += [item for item in base.order if item not in order]
        return order

    def derives(self, *names: str) -> bool:
        """Return whether one of the framework's classes of these dotted names is among the bases."""
        return any(isinstance(base, Api) and base.name in names for item in self.order for base in item.bases)

    def find(self, name: str, after: Class | None = None) -> tuple[ast.FunctionDef, Class] | None:
        """Return a method and its class, with `after` only of the classes behind it."""
        order = self.order
        for owner in order[order.index(after) + 1 :] if after in order else order:
            for item in reversed(owner.node.body):  # the last of several definitions counts
                if isinstance(item, ast.FunctionDef) and item.name == name and not _sets(item):
                    return item, owner
        return None

    def method(self, name: str, receiver: Value = None, after: Class | None = None) -> Function | None:
        """Return a method as a function that is perhaps bound to an object, as `find` finds it."""
        method = self.find(name, after)
        return None if method is None else Function(method[0], method[1].module, method[1], receiver, method[1].closure)


def _sets(method: ast.FunctionDef) -> bool:
    """Return whether a method is called where a property is set or deleted, not where it is read."""
    kinds = {item.attr for item in method.decorator_list if isinstance(item, ast.Attribute)}
    return not kinds.isdisjoint({"setter", "deleter"})


@dataclass(eq=False)
class Instance(LayerValue):
    """An object of a class of the program; only those derived from `nn.Layer` are layers."""

    cls: Class = None  # type: ignore[assignment]
    attributes: dict[str, Value] = field(default_factory=dict)
    stock: Layer | None = None  #: what it is where its class derives from one of Paddle's, such as `nn.Linear`

    def __repr__(self) -> str:
        """Return its class alone: messages show it."""
        return f"{self.cls.name} object"

    def __hash__(self) -> int:
        """As Python: of a frozen data class, by its fields."""
        key = self._key()
        return object.__hash__(self) if key is None else hash(key)

    def __eq__(self, other: object) -> bool:
        """As Python in a dict or a set: of a frozen data class, by its fields."""
        own, others = self._key(), other._key() if isinstance(other, Instance) else None
        return self is other if own is None or others is None else bool(own == others)

    def _key(self) -> tuple[Value, ...] | None:
        """Return what tells objects of a frozen data class apart; None for other objects."""
        plain = next((cls.plain for cls in self.cls.order if cls.plain is not None), None)
        if plain is None or not (plain.__dataclass_params__.frozen and plain.__dataclass_params__.eq):
            return None
        return self.cls, *(self.attributes.get(one.name) for one in dataclasses.fields(plain) if one.compare)


@dataclass(frozen=True, eq=False)
class Function:
    """A function of the program, perhaps bound to `receiver`; `closure` are the names around it, innermost first."""

    node: ast.FunctionDef | ast.Lambda
    module: Module
    owner: Class | None = None
    receiver: Value = None
    closure: tuple[dict[str, Value], ...] = ()

    @property
    def name(self) -> str:
        """Its name as people write it."""
        own = self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"
        return f"{self.owner.name}.{own}" if self.owner else own


@dataclass(frozen=True, eq=False)
class Partial:
    """`functools.partial(func, ...)`."""

    func: Value
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]


@dataclass(frozen=True)
class Super:
    """`super(...)` inside a method of `owner`."""

    owner: Class
    receiver: Instance


@dataclass(frozen=True, eq=False)
class Method:
    """A bound method of a tensor, a layer, a container, an object of Paddle, or a Python value."""

    receiver: Value
    name: str


@dataclass(eq=False)
class Module:
    """A parsed file and its top-level names."""

    path: str
    text: str
    tree: ast.Module
    names: dict[str, Value] = field(default_factory=dict)
    #: id of a node -> it, kept alive, and its span
    _spans: dict[int, tuple[ast.AST, Span]] = field(default_factory=dict)

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
        def column(line: int, offset: int) -> int:
            text = self.lines[line - 1]
            return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

        first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
        return first, column(first, start), last, column(last, end)


#: Classes of values that hold no others, and that are no values of a graph.
_PLAIN = frozenset({bool, bytes, complex, float, int, str, type(None)})
_SEVERAL = (list, tuple, set, frozenset)


def mentions(value: Value, kind: Any) -> bool:
    """Return whether `value` is or contains, in lists, tuples, dicts and slices, an instance of `kind`."""
    if type(value) in _PLAIN:
        return False
    if isinstance(value, kind):
        return True
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, slice):
        value = value.start, value.stop, value.step
    elif not isinstance(value, _SEVERAL):
        return False
    left = set(map(type, value)) - _PLAIN  # long lists of numbers or words, without running Python for each
    return bool(left) and any(mentions(item, kind) for item in value if type(item) in left)


def tensors_in(value: Value, kind: Any = Tensor) -> Iterator[Any]:
    """Yield the tensors, or what else is of a kind, in nested lists, tuples, dicts and slices, in order."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple, Mapping, slice)):
        inner = [value.start, value.stop, value.step] if isinstance(value, slice) else value
        for item in inner.values() if isinstance(inner, Mapping) else inner:
            yield from tensors_in(item, kind)


def mapped(function: Callable[..., Any], *nested: Value) -> Value:
    """Return nested lists and dicts like the first of `nested`, with `function` of what each has at the same place."""
    first = nested[0]
    if isinstance(first, Mapping):
        return {key: mapped(function, *(items[key] for items in nested)) for key in first}
    if isinstance(first, (list, tuple)):
        return [mapped(function, *items) for items in zip(*nested, strict=True)]
    return function(*nested)
