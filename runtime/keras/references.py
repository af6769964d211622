"""What the code and the values that a layer of Keras holds may reach: layers and variables that are not its own."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import tensorflow as tf

#: Values without parts that could be a layer or a variable.
_LEAVES = (str, bytes, int, float, complex, bool, type(None), types.ModuleType, tf.DType, tf.TensorShape)
#: Packages whose own code names no layer of a user.
_LIBRARIES = ("tensorflow", "keras", "tf_keras", "numpy", "runtime")


def reached(starts: Iterable[Any]) -> set[int]:
    """Return the `id` of each object that values, attributes, closures and the global names of functions lead to.

    A graph's nodes and symbolic tensors are not followed: they lead to every layer of a model.
    """
    numbers: set[int] = set()
    waiting = list(starts)
    while waiting:
        item = waiting.pop()
        if isinstance(item, _LEAVES) or id(item) in numbers or _of_graph(item):
            continue
        numbers.add(id(item))
        waiting.extend(_parts(item))
    return numbers


def own_objects(layer: Any) -> dict[str, Any]:
    """Return, by name, the functions and classes of a user's that a configuration names and Keras would have to know.

    A name that stands for several of them is left out.
    """
    objects: dict[str, Any] = {}
    for inner in layer._flatten_layers():
        for value in [type(inner), *vars(inner).values()]:
            code = value if isinstance(value, (type, types.FunctionType)) else type(value)
            if not _of_library(code) and code.__module__ != "builtins":
                objects[code.__name__] = code if objects.get(code.__name__, code) is code else None
    return {name: code for name, code in objects.items() if code is not None}


def _of_graph(value: Any) -> bool:
    return hasattr(value, "_keras_history") or type(value).__name__ in ("Node", "KerasTensor", "KerasHistory")


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, types.FunctionType):
        yield from _of_function(value)
    elif isinstance(value, types.MethodType):
        yield from (value.__self__, value.__func__)
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, type):
        yield from _of_class(value)
    else:
        yield from getattr(value, "__dict__", {}).values()
        yield from _of_class(type(value))


def _of_function(function: types.FunctionType) -> Iterator[Any]:
    # A decorator of a library may hold a function of the user's.
    yield from (cell.cell_contents for cell in function.__closure__ or () if filled(cell))
    if _of_library(function):
        return
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from (function.__globals__[name] for name in _names(function.__code__) if name in function.__globals__)


def _names(code: types.CodeType) -> Iterator[str]:
    """Yield the global names and attributes in code, and in functions that it makes."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def filled(cell: Any) -> bool:
    """Return whether a cell of a closure has a value."""
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a name that is not set yet
        return False


def _of_class(kind: type) -> Iterator[Any]:
    for base in kind.__mro__:
        if not _of_library(base) and base is not object:
            yield from vars(base).values()


def _of_library(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).partition(".")[0] in _LIBRARIES
