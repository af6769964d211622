"""Operators and attributes of the interpreter's values."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from migrate.source.paddle.mapping.api_table import METHODS, canonical
from migrate.source.paddle.mapping.shape_checks import broadcast
from migrate.source.paddle.mapping.values import (
    UNKNOWN,
    Api,
    BatchSize,
    Class,
    Config,
    Container,
    Function,
    Instance,
    Linear,
    Method,
    Module,
    RawInput,
    Refuse,
    Super,
    Tensor,
    Unknown,
    Value,
)

_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_TENSOR_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_LARGE = 1_000_000
RAW_USE = "only `nn.Linear` may read the raw input: a lookup can replace x·W, but no other use of one-hot columns"


def binary(op: ast.operator, left: Value, right: Value) -> Value:
    """Return `left op right` for numbers, lists, strings and tensors."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if isinstance(left, RawInput) or isinstance(right, RawInput):
        raise Refuse(RAW_USE)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return _tensor_binary(op, left, right)
    if isinstance(left, BatchSize) or isinstance(right, BatchSize):
        return BatchSize()
    if type(op) not in _BINARY:
        raise Refuse(f"operator `{type(op).__name__}` is not supported")
    _check_size(op, left, right)
    return _BINARY[type(op)](left, right)


def _tensor_binary(op: ast.operator, left: Value, right: Value) -> Tensor:
    if not isinstance(op, _TENSOR_OPERATORS):
        raise Refuse(f"operator `{type(op).__name__}` on tensors is not supported")
    check_float([left, right])
    shapes = []
    for side in (left, right):
        if not isinstance(side, Tensor | int | float):
            raise Refuse(f"an operator on a tensor and {type(side).__name__} is not supported")
        shapes.append(side.shape if isinstance(side, Tensor) else ())
    return Tensor(broadcast(shapes[0], shapes[1]))


def check_float(values: list[Value]) -> None:
    """Raise `Refuse` for arithmetic on tensors with another dtype than float32."""
    for value in values:
        if isinstance(value, list | tuple):
            check_float(list(value))
        elif isinstance(value, Tensor) and value.dtype != "float32":
            raise Refuse(f"arithmetic on {value.dtype} differs between the frameworks; cast to float32 first")


def check_power(base: Value, exponent: Value) -> None:
    """Raise `Refuse` for powers that would exhaust memory."""
    bits = base.bit_length() if isinstance(base, int) else 1
    if isinstance(exponent, int | float) and abs(exponent) * bits > _LARGE:
        raise Refuse("a power this large is not supported")


def _check_size(op: ast.operator, left: Value, right: Value) -> None:
    if isinstance(op, ast.Pow):
        check_power(left, right)
    if isinstance(op, ast.Mult):
        for items, count in ((left, right), (right, left)):
            if isinstance(items, list | tuple | str) and isinstance(count, int) and len(items) * count > _LARGE:
                raise Refuse("a list this long is not supported")


def attribute(value: Value, name: str) -> Value:
    """Return `value.name`."""
    if isinstance(value, Api):
        return _api_attribute(value, name)
    if isinstance(value, Module):
        if name in value.names:
            return value.names[name]
        raise Refuse(f"`{name}` is not defined in {value.path}")
    if isinstance(value, Class):
        return _class_constant(value, name)
    if isinstance(value, Instance):
        return _instance_attribute(value, name)
    if isinstance(value, Tensor) and name == "shape":
        if value.shape is None:
            raise Refuse("the shape of this tensor cannot be determined")
        return [BatchSize() if size is None else size for size in value.shape]
    if isinstance(value, RawInput):
        raise Refuse(RAW_USE)
    if isinstance(value, Linear) and name in {"weight", "bias"}:
        raise Refuse(f"reading a layer's `{name}` is not supported")
    if isinstance(value, Tensor) and name not in METHODS:
        raise Refuse(f"tensor method `{name}` is not supported")
    if isinstance(value, Tensor | Container | list | dict | str | Super | Config):
        return Method(value, name)
    raise Refuse(f"attribute `{name}` of {type(value).__name__} is not supported")


def _instance_attribute(value: Instance, name: str) -> Value:
    if name in value.attributes:
        return value.attributes[name]
    if name in value.sublayers:
        return value.sublayers[name]
    found = value.cls.find(name) if value.cls else None
    if found is not None:
        return Function(found[0], found[1].module, found[1], value)
    if name == "add_sublayer":
        return Method(value, name)
    if value.cls is None:
        raise Refuse(f"the attribute `{name}` is not set in this model")
    return _class_constant(value.cls, name)


def _class_constant(cls: Class, name: str) -> Value:
    try:
        return cls.constant(name)
    except KeyError:
        message = f"`{name}` is neither set in this model nor a supported attribute of `nn.Layer`"
        raise Refuse(message) from None


def _api_attribute(api: Api, name: str) -> Value:
    """Return `api.name`: a constant of `math`, or an `Api` with the longer dotted name."""
    dotted = canonical(f"{api.name}.{name}")
    if api.name == "math" and isinstance(getattr(math, name, None), float):
        return getattr(math, name)
    return Api(dotted)
