"""Calls in the interpreter: Python builtins, functions of the API table, layers, classes and methods of the file."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace

from migrate.source.paddle.interpreter import layers
from migrate.source.paddle.interpreter.operators import RAW_USE, attribute, binary, check_float, check_power
from migrate.source.paddle.interpreter.run import Run
from migrate.source.paddle.mapping.api_table import CONTAINERS, DTYPES, LAYER, LINEAR, METHODS, PARAM_ATTR, TABLE, Entry
from migrate.source.paddle.mapping.values import (
    UNKNOWN,
    Activation,
    Api,
    Class,
    Config,
    Container,
    Function,
    Initializer,
    Instance,
    LayerValue,
    Linear,
    Method,
    Once,
    RawInput,
    Refuse,
    Super,
    Tensor,
    Unknown,
    Value,
    mentions,
)

_LARGE = 1_000_000
BUILTINS: dict[str, Callable[..., Value]] = {
    "abs": abs,
    "bool": bool,
    "dict": dict,
    "enumerate": lambda *a, **k: list(enumerate(*a, **k)),
    "float": float,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "print": lambda *a, **k: None,
    "range": range,
    "reversed": lambda items: list(reversed(items)),
    "round": round,
    "sorted": sorted,
    "str": str,
    "sum": sum,
    "tuple": tuple,
    "zip": lambda *a: list(zip(*a, strict=False)),
}
_MATH = frozenset({"ceil", "exp", "floor", "log", "log10", "log2", "pow", "prod", "sqrt"})
SPECIAL = frozenset({"getattr", "isinstance", "pow", "setattr", "super"})
_PYTHON_METHODS: dict[type, frozenset[str]] = {
    list: frozenset({"append", "extend", "insert", "pop", "reverse", "index", "copy", "count", "clear"}),
    dict: frozenset({"get", "items", "keys", "values", "update", "pop", "setdefault"}),
    str: frozenset({"format", "join", "lower", "upper", "split", "strip", "startswith", "endswith", "replace"}),
}
_CHANGING = frozenset({"append", "extend", "insert", "pop", "reverse", "clear", "update", "setdefault"})
_SHAPING = frozenset({"paddle.reshape", "paddle.squeeze", "paddle.unsqueeze"})
_ANY_TYPE = _SHAPING | {"paddle.cast"}
_OPAQUE = (Tensor, RawInput, LayerValue, Unknown)


def call(run: Run, node: ast.Call) -> Value:
    """Evaluate a call."""
    if isinstance(node.func, ast.Name) and node.func.id == "super" and "super" not in run.frame.names:
        return layers.super_of(run.frame)
    callee = run.evaluate(node.func)
    positional, keywords = _arguments(run, node)
    key = (run.frame.module.path, run.frame.module.span(node))
    run.executed.add(key)
    if isinstance(callee, Unknown):
        return UNKNOWN
    if isinstance(callee, Method) and isinstance(callee.receiver, Tensor):
        run.methods[key] = callee.name
        run.mixed(node, key, tensor=True)
    elif isinstance(node.func, ast.Attribute):
        run.mixed(node, key, tensor=False)
    return apply(run, node, callee, positional, keywords)


def _arguments(run: Run, node: ast.Call) -> tuple[list[Value], dict[str, Value]]:
    positional: list[Value] = []
    for item in node.args:
        if isinstance(item, ast.Starred):
            positional.extend(run.iterate(item.value))
        else:
            positional.append(run.evaluate(item))
    keywords = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise Refuse("`**` arguments are not supported")
        keywords[keyword.arg] = run.evaluate(keyword.value)
    return positional, keywords


def apply(run: Run, node: ast.Call, callee: Value, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Call a value."""
    if isinstance(callee, Api):
        return _call_api(run, node, callee.name, positional, keywords)
    if isinstance(callee, Function):
        return run.call_function(callee, positional, keywords)
    if isinstance(callee, Class):
        return layers.instantiate(run, node, callee, positional, keywords)
    if isinstance(callee, LayerValue):
        return call_layer(run, node, callee, positional, keywords)
    if isinstance(callee, Method):
        return _call_method(run, node, callee, positional, keywords)
    raise Refuse(f"a call of {type(callee).__name__} is not supported")


def _call_api(run: Run, node: ast.Call, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    module, _, function = name.partition(".")
    if module == "builtins":
        return _call_builtin(run, node, function, positional, keywords)
    if module == "math" and function in _MATH:
        return _python(getattr(math, function), positional, keywords)
    if name == LINEAR:
        return layers.linear(run, node, positional, keywords)
    if name == PARAM_ATTR:
        return layers.param_attr(run, positional, keywords)
    if name in CONTAINERS:
        return layers.container(run, node, CONTAINERS[name], positional, keywords)
    if name in TABLE:
        return call_entry(run, node, TABLE[name], positional, keywords)
    if name == LAYER:
        raise Refuse("a bare `nn.Layer()` object is not supported")
    raise Refuse(f"`{name}` is not supported")


def call_entry(run: Run, node: ast.Call, entry: Entry, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Evaluate a call of a function of the API table."""
    if mentions([positional, keywords], Unknown):
        return UNKNOWN
    if mentions([positional, keywords], RawInput):
        raise Refuse(RAW_USE)
    keywords = {
        key: value for key, value in keywords.items() if not (isinstance(value, Api) and value.name in DTYPES)
    } | {key: value.name for key, value in keywords.items() if isinstance(value, Api) and value.name in DTYPES}
    bound = entry.bind(positional, keywords)
    if entry.kind == "initializer":
        return Initializer(entry.name.rpartition(".")[2], bound)
    if entry.kind == "activation":
        return Activation(run.frame.module.span(node), {}, entry.layer_of, bound)
    assert entry.check is not None, f"{entry.name} has no check"
    if entry.kind == "function" and entry.name not in _ANY_TYPE:
        check_float(list(bound.values()))
    result = entry.check(bound)
    return replace(result, dtype=bound["x"].dtype) if entry.name in _SHAPING else result


def _call_builtin(run: Run, node: ast.Call, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    if name == "getattr" and len(positional) in (2, 3) and isinstance(positional[1], str):
        run.lasting.reads(positional[0], positional[1])
        return attribute(positional[0], positional[1])
    if name == "setattr" and len(positional) == 3 and isinstance(positional[1], str):
        return run.set_attribute(node, positional[0], positional[1], positional[2])
    if name == "pow":
        check_power(*positional[:2])
        return _python(pow, positional, keywords)
    if name == "isinstance" and len(positional) == 2:
        return _isinstance(positional[0], positional[1])
    if name not in BUILTINS:
        raise Refuse(f"`{name}` is not supported")
    if name == "range" and len(range(*positional)) > _LARGE:
        raise Refuse("a `range` this long is not supported")
    for item in positional:
        run.lasting.consumes(item)
    if name in {"len", "enumerate", "list", "zip", "reversed", "tuple"}:
        positional = [item.items if isinstance(item, Container) else item for item in positional]
    if name in {"enumerate", "list", "zip", "tuple", "reversed"}:
        if any(isinstance(item, _OPAQUE) for item in positional):
            raise Refuse(f"`{name}` of a tensor is not supported")
        result = BUILTINS[name](*positional, **keywords)
        return Once(result, run.built) if name in {"enumerate", "zip", "reversed"} else result
    return _python(BUILTINS[name], positional, keywords)


def _isinstance(value: Value, kind: Value) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    types = {"list": list, "tuple": tuple, "int": int, "float": float, "str": str, "dict": dict, "bool": bool}
    for item in kinds:
        name = item.name.removeprefix("builtins.") if isinstance(item, Api) else ""
        if name not in types:
            raise Refuse("`isinstance` of this class is not supported")
        if isinstance(value, types[name]):
            return True
    return False


def _python(function: Callable[..., Value], positional: list[Value], keywords: dict[str, Value]) -> Value:
    if mentions([positional, keywords], Unknown):
        return UNKNOWN
    scalar = any(isinstance(item, Tensor | RawInput) for item in [*positional, *keywords.values()])
    inside = function in (sum, max, min) and (mentions(positional, Tensor) or mentions(positional, RawInput))
    if function is sum and inside and not scalar and len(positional) == 1 and not mentions(positional, RawInput):
        return _sum_of_tensors(positional[0])
    if scalar or inside:
        raise Refuse(f"Python's `{getattr(function, '__name__', 'function')}` of a tensor is not supported")
    return function(*positional, **keywords)


def _sum_of_tensors(items: list[Value]) -> Value:
    total: Value = 0
    for item in items:
        total = binary(ast.Add(), total, item)
    return total


def call_layer(
    run: Run, node: ast.Call, layer: LayerValue, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    """Call a layer object on its inputs."""
    if isinstance(layer, Instance):
        found = layer.cls.find("forward") if layer.cls else None
        if found is None:
            raise Refuse("this layer has no method `forward`")
        return run.call_function(Function(found[0], found[1].module, found[1], layer), positional, keywords)
    if len(positional) != 1 or keywords:
        raise Refuse("this layer takes one positional argument")
    inputs = positional
    if isinstance(inputs[0], Unknown):
        return UNKNOWN
    if isinstance(layer, Linear):
        return layers.call_linear(layer, inputs[0])
    if isinstance(layer, Activation):
        return call_entry(run, node, TABLE[layer.function], [inputs[0]], _given(layer))
    if isinstance(layer, Container) and layer.kind == "Sequential":
        value = inputs[0]
        for item in layer.items:
            value = call_layer(run, node, item, [value], {})
        return value
    raise Refuse("`nn.LayerList` cannot be called; call its items")


def _given(layer: Activation) -> dict[str, Value]:
    return {key: value for key, value in layer.arguments.items() if key != "name"}


def _call_method(
    run: Run, node: ast.Call, method: Method, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    receiver, name = method.receiver, method.name
    if isinstance(receiver, Tensor):
        if name not in METHODS:
            raise Refuse(f"tensor method `{name}` is not supported")
        return call_entry(run, node, METHODS[name], [receiver, *_loose(name, positional)], keywords)
    if isinstance(receiver, Super):
        return layers.call_super(run, receiver, name, positional, keywords)
    if isinstance(receiver, Instance):
        return layers.call_layer_api(run, receiver, name, positional, keywords)
    if isinstance(receiver, Container):
        return layers.call_container_method(run, receiver, name, positional)
    if isinstance(receiver, Config) and name == "get":
        return receiver.values.get(positional[0], positional[1] if len(positional) > 1 else keywords.get("default"))
    allowed = next((names for kind, names in _PYTHON_METHODS.items() if isinstance(receiver, kind)), frozenset())
    if name not in allowed:
        raise Refuse(f"method `{name}` of {type(receiver).__name__} is not supported")
    if name in _CHANGING:
        run.lasting.changes(receiver)
    result = getattr(receiver, name)(*positional, **keywords)
    return list(result) if name in {"items", "keys", "values"} and isinstance(receiver, dict) else result


def _loose(name: str, positional: list[Value]) -> list[Value]:
    if name in {"reshape", "transpose"} and positional and not isinstance(positional[0], list | tuple):
        raise Refuse(f"`{name}` with separate numbers is not supported; give a list")
    return positional
