"""What programs ask of a value: its class, its attributes, whether it can be called.

A tensor or a layer of what is written has another class and other attributes than Paddle's, and Paddle itself is not
there. So an answer that the two might give differently is recorded, and written in place of the question.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract import attributes
from migrate.source.paddle.abstract.definitions.classes import TYPES, class_name, class_of, not_one_hot
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import (
    Api,
    Class,
    Described,
    Fetched,
    Function,
    Instance,
    LayerValue,
    Method,
    Partial,
    Refuse,
    Size,
    Tensor,
    Value,
    Weight,
    words,
)
from migrate.source.paddle.layers import registry as layer_specs
from migrate.source.paddle.ops import registry
from migrate.source.paddle.ops.described import DESCRIBED

_TENSOR = "paddle.Tensor"
_INSTALLED = {"math": math, "numpy": np, "sys": sys}
_CLASSES = frozenset({*layer_specs.SPECS, *registry.CONTAINERS, *DESCRIBED, registry.LAYER})
_NAMES = _CLASSES | registry.OPS.keys()
_MODULES = frozenset(name.rsplit(".", n)[0] for name in _NAMES for n in range(1, name.count(".") + 1))
_GONE = frozenset({"paddle.fluid"})  #: what Paddle had before 2.5
_OF_TENSORS = words("shape ndim rank T dtype stop_gradient name backward item gradient")


def _isinstance(run: Run, node: ast.AST, arguments: list[Value]) -> Value:
    value, kind = arguments
    not_one_hot(value)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    names = [item.name for item in kinds if isinstance(item, Api)]
    written = all(not name.startswith("paddle.") or name == _TENSOR or name in _CLASSES for name in names)
    fixed = isinstance(value, (Size, Weight)) or (isinstance(value, Tensor) and value.array) or not written
    return run.answer(node, any(_is(run, value, item) for item in kinds), fixed)


def _is(run: Run, value: Value, kind: Value) -> bool:
    """Return whether a value is of a class; raises `Refuse` for a class that is not known."""
    if isinstance(kind, Class):
        return isinstance(value, Instance) and kind in value.cls.order
    if isinstance(kind, type):  # such as a named tuple of the program
        return isinstance(value, kind)
    name = kind.name if isinstance(kind, Api) else ""
    if (plain := TYPES.get(name.removeprefix("builtins."))) is not None:
        return isinstance(value, plain) or (isinstance(value, Size) and plain is int)
    if name == "numpy.ndarray":
        return isinstance(value, np.ndarray) or (isinstance(value, Tensor) and value.array)
    if name in {_TENSOR, "paddle.static.Variable"}:
        return isinstance(value, Tensor) and not value.array and (name == _TENSOR or run.static)
    if name not in _CLASSES:
        raise Refuse("`isinstance` of this class is not supported")
    if isinstance(value, Instance) and value.cls.derives(name):
        return True
    return attributes.is_layer(value) if name == registry.LAYER else class_name(value) == name


def _getattr(run: Run, node: ast.AST, arguments: list[Value]) -> Value:
    if len(arguments) < 2 or not isinstance(arguments[1], str):
        raise Refuse("`getattr` needs a name that can be determined")
    value, name = arguments[:2]
    not_one_hot(value)
    if isinstance(value, Api) and value.name.partition(".")[0] == "paddle":
        _by_name(run, node, value, name)
    if len(arguments) == 3 and not isinstance(value, (Instance, Class)) and not has(value, name):
        return arguments[2]
    try:
        return attributes.read(run, node, value, name)
    except Refuse:
        if len(arguments) == 3:
            return arguments[2]
        raise


def _by_name(run: Run, node: ast.AST, module: Api, name: str) -> None:
    """Record that a name of a module of Paddle is read; raises `Refuse` where what is written has not the same name."""
    op = registry.find(f"{module.name}.{name}")
    if module.name == "paddle":
        if op is None or op.functional != name:
            raise Refuse(f"`getattr(paddle, {name!r})` is not supported; write `paddle.{name}`")
        run.record(node, "named", None)


def _hasattr(run: Run, node: ast.AST, arguments: list[Value]) -> Value:
    value, name = arguments
    not_one_hot(value)
    if not isinstance(value, (Instance, Class)):
        of_paddle = isinstance(value, Api) and value.name.partition(".")[0] == "paddle"
        fixed = of_paddle or (isinstance(value, (Tensor, LayerValue, Described)) and not run.in_step)
        return run.answer(node, has(value, name), fixed)
    try:
        attributes.read(run, node, value, name)
    except Refuse:
        return run.answer(node, False, False)
    return run.answer(node, True, False)


def has(value: Value, name: str) -> bool:
    """Return whether a value has an attribute; raises `Refuse` where that is not known of Paddle's."""
    if isinstance(value, Api):
        module, _, rest = value.name.partition(".")
        dotted = registry.canonical(f"{value.name}.{name}")
        known = True if dotted in _NAMES | _MODULES or registry.dtype(dotted) is not None else None
        known = False if known is None and dotted in _GONE else known
        if module in _INSTALLED and not rest:
            known = hasattr(_INSTALLED[module], name)
        what = f"`{value.name}`"
    elif isinstance(value, Tensor):
        known = True if name in _OF_TENSORS or registry.is_method(value, name) else None
        what = "a tensor of Paddle"
    elif isinstance(value, (LayerValue, Described)):
        known = True if isinstance(value, LayerValue) and attributes.of_layer(value, name) else None
        what = f"`{class_name(value)}`"
    elif isinstance(value, (Size, Fetched, Function, Method)):
        known, what = None, "this value"
    else:
        return hasattr(value, name)
    if known is None:
        raise Refuse(f"whether {what} has `{name}` is not known; keep only the side that your version takes")
    return known


def _callable(run: Run, node: ast.AST, arguments: list[Value]) -> Value:
    value = arguments[0]
    if isinstance(value, Instance):
        return attributes.is_layer(value) or value.cls.find("__call__") is not None
    return isinstance(value, (Function, Class, LayerValue, Method, Api, Partial)) or callable(value)


def is_tensor(run: Run, node: ast.AST, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """`paddle.is_tensor(x)`."""
    value = next(iter([*positional, *keywords.values()]), None)
    not_one_hot(value)
    return run.answer(node, _is(run, value, Api(_TENSOR)), True)


SPECIAL: dict[str, Callable[[Run, ast.AST, list[Value]], Value]] = {
    "isinstance": _isinstance,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": lambda run, node, arguments: run.set_attribute(node, *arguments),
    "type": lambda run, node, arguments: class_of(*arguments),
    "callable": _callable,
}
