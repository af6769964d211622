"""Types of arguments and results of a model's functions, as seen by the machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from migrate.source.paddle.abstract.values import Container, Instance, Layer, OneHot, Tensor, Value

ANY = "Any"
TENSOR = "tf.Tensor"
#: The type of the converted model's input: dense features, and the rows of sparse features.
INPUT = "tuple[tf.Tensor, tf.Tensor]"
MOST = 64  #: maximal number of list items whose types are checked
DEEPEST = 3


@dataclass
class Signature:
    """Types of the parameters and results in all calls of a function."""

    parameters: dict[str, set[str]] = field(default_factory=dict)
    results: set[str] = field(default_factory=set)

    def called(self, names: dict[str, Value]) -> None:
        """Record the argument values of a call."""
        for name, value in names.items():
            self.parameters.setdefault(name, set()).add(type_of(value))

    def returned(self, value: Value) -> None:
        """Record a result."""
        self.results.add(type_of(value))


def type_of(value: Value, depth: int = 0) -> str:
    """Return a value's type as an annotation of the converted module."""
    if value is None or isinstance(value, bool | int | float | str):
        return "None" if value is None else type(value).__name__
    if isinstance(value, OneHot):
        return INPUT
    if isinstance(value, Tensor):
        return TENSOR
    if isinstance(value, Layer) and value.name == "paddle.nn.Linear":
        return "Linear"
    if isinstance(value, Container):
        return value.kind
    if isinstance(value, Instance) and value.cls is not None:
        return value.cls.name
    if isinstance(value, list | tuple | dict) and depth < DEEPEST:
        return _collection(value, depth)
    return ANY


def _collection(value: Value, depth: int) -> str:
    if isinstance(value, dict):
        keys, values = (union(type_of(item, depth + 1) for item in part) for part in (value.keys(), value.values()))
        return f"dict[{keys}, {values}]"
    inner = union(type_of(item, depth + 1) for item in value[:MOST])
    return f"list[{inner}]" if isinstance(value, list) else f"tuple[{inner}, ...]"


def union(types: Iterable[str]) -> str:
    """Return the union of types; `int` and `float` become `float`, and a type and `None` become an optional type."""
    found = set(types)
    if ANY in found or not found:
        return ANY
    for kind in ("list", "tuple", "dict"):  # the type of an empty one is compatible with any other
        empty = {name for name in found if name.startswith(f"{kind}[{ANY}")}
        if any(name.startswith(f"{kind}[") for name in found - empty):
            found -= empty
    if "float" in found:
        found.discard("int")
    if "None" in found and len(found) == 2:
        (other,) = found - {"None"}
        return f"{other} | None"
    return found.pop() if len(found) == 1 else ANY
