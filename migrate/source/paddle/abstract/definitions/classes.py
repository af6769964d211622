"""The classes of values, as `type` tells them."""

from __future__ import annotations

import numpy as np

from migrate.source.paddle.abstract.values import (
    Api,
    Container,
    Described,
    Instance,
    LayerValue,
    OneHot,
    Refuse,
    Value,
)

TYPES = {
    one.__name__: one for one in (list, tuple, int, float, str, dict, bool, set, frozenset, bytes, complex, object)
}


def not_one_hot(value: Value) -> None:
    """Raise `Refuse` for a question about a one-hot input, which is a tensor in Paddle and none in what is written."""
    if isinstance(value, OneHot):
        raise Refuse("only `nn.Linear` may read the one-hot input, and this asks what kind of value it is")


def class_name(value: Value) -> str:
    """Return the dotted name of the class that Paddle gives a value; empty for others."""
    if isinstance(value, Container):
        return f"paddle.nn.{value.kind}"
    return str(getattr(value, "name", "")) if isinstance(value, LayerValue | Described) else ""


def class_of(value: Value) -> Value:
    """Return the class of a value, as `type` does; raises `Refuse` where what is written has another one."""
    not_one_hot(value)
    if isinstance(value, Instance):
        return value.cls
    if (name := class_name(value)) or isinstance(value, np.ndarray):
        return Api(name or "numpy.ndarray")
    if type(value).__name__ in TYPES:
        return Api(f"builtins.{type(value).__name__}")
    if value is None or isinstance(value, tuple | Exception):  # a named tuple, or an error that is caught
        return type(value)
    raise Refuse("`type` of a tensor, a size or a function is another in a graph; use `isinstance`")
