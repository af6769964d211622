"""Attributes of values."""

from __future__ import annotations

import ast
import dataclasses
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from migrate.source.paddle.abstract.definitions.classes import class_of, decorated
from migrate.source.paddle.abstract.host.sparse import METHODS, Matrix, attribute
from migrate.source.paddle.abstract.run import Frame, Raised, Run
from migrate.source.paddle.abstract.values import (
    Api,
    Class,
    Container,
    Described,
    Dtype,
    Fetched,
    Function,
    Instance,
    Layer,
    LayerValue,
    Method,
    Module,
    OneHot,
    Partial,
    Refuse,
    Size,
    Super,
    Tensor,
    Value,
    Weight,
    mentions,
    words,
)
from migrate.source.paddle.layers import registry as layer_specs
from migrate.source.paddle.layers.spec import LayerSpec
from migrate.source.paddle.ops import registry

#: Attributes of a layer's object that are its own arguments, under the names that Paddle gives them.
_STORED = {"_num_embeddings": "num_embeddings", "_embedding_dim": "embedding_dim", "_padding_idx": "padding_idx"}
_OF_ROWS = frozenset({"shape", "ndim", "rank", "T", "dtype"})
_OWN = words(
    "add_sublayer add_parameter create_parameter register_buffer sublayers named_sublayers children "
    "named_children parameters named_parameters state_dict train eval full_name apply"
)


_CONSTANTS = {
    **{f"sys.float_info.{name}": getattr(sys.float_info, name) for name in ("max", "min", "epsilon")},
    "sys.maxsize": sys.maxsize,
    "numpy.newaxis": None,
}


_PLAIN = (bool, int, float, str, bytes, list, tuple, dict, set, range)


class Sizes(list[Any]):
    """The shape of a tensor, which was read at a site of its own."""


def read(run: Run, node: ast.AST, value: Value, name: str) -> Value:
    """Return `value.name` at a node."""
    if isinstance(value, (Instance, Layer, Class, Module)):
        run.lasting.reads(value, name)
    if isinstance(value, Fetched):
        return value
    if name == "__class__":
        return class_of(value)
    if isinstance(value, Matrix) and name not in METHODS:
        return attribute(value, name)
    if isinstance(value, Tensor) and run.in_step and name == "shape":
        return Fetched()
    if isinstance(value, Tensor):
        return _of_tensor(run, node, value, name)
    if isinstance(value, Api):
        return _of_api(value, name)
    if isinstance(value, Module):
        if name in value.names:
            return value.names[name]
        raise Refuse(f"`{name}` is not defined in {value.path}")
    if isinstance(value, Class):
        return _of_class(value, name)
    if isinstance(value, Instance):
        return _of_instance(run, node, value, name)
    if isinstance(value, Layer):
        return _of_layer(run, node, value, name)
    if isinstance(value, Container) and name.isdigit():
        return value.sublayers[name]
    if isinstance(value, Described) and name in value.arguments:
        return value.arguments[name]
    if isinstance(value, (np.ndarray, np.generic)) and name in {"shape", "ndim", "size", "T"}:
        return getattr(value, name)
    if isinstance(value, (np.ndarray, np.generic)) and name == "dtype":
        return Dtype(value.dtype.name)
    if isinstance(value, Function) and name == "__name__":
        return value.node.name if isinstance(value.node, ast.FunctionDef) else "<lambda>"
    if isinstance(value, Partial) and name in {"func", "args", "keywords"}:
        return getattr(value, name)
    if isinstance(value, tuple) and name in getattr(value, "_fields", ()):
        return getattr(value, name)
    if isinstance(value, np.finfo) and name in {"eps", "min", "max", "tiny"}:
        return getattr(value, name)
    if isinstance(value, Size) or value is None:
        raise Refuse(f"attribute `{name}` of {'a size' if value else 'None'} is not supported")
    if isinstance(value, _PLAIN) and not callable(getattr(value, name)):
        raise Refuse(f"`{name}` of a {type(value).__name__} is not supported")
    return Method(value, name)


def _of_tensor(run: Run, node: ast.AST, value: Tensor, name: str) -> Value:
    if isinstance(value, OneHot) and name in _OF_ROWS:
        raise Refuse(f"only `nn.Linear` may read the one-hot input, and `{name}` is of a row of all its columns")
    if name == "shape":
        if value.shape is None:
            raise Refuse("the shape of this tensor is not known when the model is converted")
        own = [
            value.extent or 1 if value.shape.count(None) == 1 or not i else object() for i in range(len(value.shape))
        ]
        sizes = Sizes(Size(own[i]) if size is None else size for i, size in enumerate(value.shape))
        run.record(node, "shape", None, int(mentions(list(sizes), Size)))
        return sizes
    if name == "dtype":
        return Dtype(value.dtype)
    if name in {"ndim", "rank"} and value.shape is not None:
        run.record(node, "ndim", None)
        return len(value.shape)
    if name == "T":
        return run.apply(node, registry.method_of(value, "T"), [value], {}, "attribute")
    if name in {"stop_gradient", "trainable"} and isinstance(value, Weight):
        return value.trains is (name == "trainable")
    if name in {"name", "stop_gradient", "trainable"}:
        return False if name != "name" else ""
    return Method(value, name)


def _of_api(api: Api, name: str) -> Value:
    dotted = registry.canonical(f"{api.name}.{name}")
    if name == "__name__":
        return api.name.rpartition(".")[2]
    if api.name in {"math", "numpy"} and isinstance(
        constant := getattr(math if api.name == "math" else np, name, None), float
    ):
        return constant
    if (dtype := registry.dtype(dotted)) is not None:
        return dtype
    return _CONSTANTS.get(dotted, Api(dotted))


def _of_class(cls: Class, name: str) -> Value:
    for item in cls.order:
        if name in item.constants:
            return item.constants[name]
    if name == "__name__":
        return cls.name
    definition = cls.find(name)
    if definition is None:
        raise Refuse(f"`{cls.name}` has no `{name}`")
    return Function(definition[0], definition[1].module, definition[1], closure=cls.closure)


def _of_instance(run: Run, node: ast.AST, value: Instance, name: str) -> Value:
    stock, definition = value.stock, value.cls.find(name)
    if definition is not None and is_property(definition[0]):
        return run.call(node, bound(run, node, definition, value), [], {})
    if stock is not None and name in stock.weights and value.weights.get(name) is stock.weights[name]:
        return _of_layer(run, node, stock, name)
    for names in (value.attributes, value.sublayers, value.weights):
        if name in names:
            return names[name]
    if name == "training" and is_layer(value):
        return value.training
    if definition is not None:
        return bound(run, node, definition, value)
    if name in _OWN and is_layer(value):
        return Method(value, name)
    for cls in value.cls.order:
        if name in cls.constants:
            return cls.constants[name]
    if stock is not None and (name in stock.arguments or name in _STORED):
        return _of_layer(run, node, stock, name)
    raise Refuse(f"`{name}` is not set in this {value.cls.name}")


def special(run: Run, node: ast.AST, value: Value, name: str, *arguments: Value) -> Value:
    """Call a special method of an object of the program, such as `__len__`; raises `Refuse` if there is none."""
    definition = value.cls.find(name) if isinstance(value, Instance) else None
    if definition is None:
        raise Refuse(f"`{name}` of {type(value).__name__} is not supported")
    return run.call(node, bound(run, node, definition, value), list(arguments), {})


def iterated(run: Run, node: ast.AST, value: Value) -> Value:
    """Return what a loop over a value goes through: for an object of the program, what its methods give."""
    if not isinstance(value, Instance) or is_layer(value):
        return value
    if value.cls.find("__iter__") is None and value.cls.find("__getitem__") is not None:
        return _indexed(run, node, value)
    iterator = value if value.cls.find("__iter__") is None else special(run, node, value, "__iter__")
    return _advanced(run, node, iterator) if isinstance(iterator, Instance) else iterator


def _indexed(run: Run, node: ast.AST, value: Instance) -> Iterator[Value]:
    for index in range(special(run, node, value, "__len__")):
        yield special(run, node, value, "__getitem__", index)


def _advanced(run: Run, node: ast.AST, value: Instance) -> Iterator[Value]:
    while True:
        run.trying += 1
        try:
            item = special(run, node, value, "__next__")
        except Raised as raised:
            if isinstance(raised.error, StopIteration):
                return
            raise
        finally:
            run.trying -= 1
        yield item


def is_property(method: ast.FunctionDef) -> bool:
    """Return whether reading a method's name calls it."""
    return any(_last_name(item) in {"property", "cached_property"} for item in method.decorator_list)


def bound(run: Run, node: ast.AST, method: tuple[ast.FunctionDef, Class], value: Instance) -> Value:
    """Return a method as an object has it, with its decorators."""
    definition, owner = method
    function = decorated(run, node, Function(definition, owner.module, owner, None, owner.closure), owner.module)
    kinds = {_last_name(item) for item in definition.decorator_list}
    if not isinstance(function, Function) or "staticmethod" in kinds:
        return function
    return dataclasses.replace(function, receiver=owner if "classmethod" in kinds else value)


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _of_layer(run: Run, node: ast.AST, value: Layer, name: str) -> Value:
    if name in value.own:
        return value.own[name]
    if name in value.weights:
        if name == "weight":
            value.whole_reads.append(run.place(node))
        return value.weights[name]
    if name in value.sublayers:
        return value.sublayers[name]
    if name in value.arguments or _STORED.get(name) in value.arguments:
        return value.arguments[_STORED.get(name, name)]
    if name == "training":
        return value.training
    return Method(value, name)


def of_layer(value: LayerValue, name: str) -> bool:
    """Return whether Paddle gives one of its layers an attribute of this name, as far as that is known."""
    own = isinstance(value, Layer) and (name in value.own or _STORED.get(name) in value.arguments)
    return own or name in {*value.weights, *value.sublayers, *_OWN, "training", "forward"}


def is_layer(value: Value) -> bool:
    """Return whether Paddle registers a value as a sublayer."""
    if isinstance(value, Instance):
        return value.cls.derives(registry.LAYER, layer_specs.CELL_BASE) or stock_of(value.cls) is not None
    return isinstance(value, LayerValue)


def stock_of(cls: Class) -> LayerSpec | None:
    """Return the spec of the layer of Paddle from which a class of the program derives, or None."""
    names = (getattr(base, "name", "") for item in cls.order for base in item.bases if isinstance(base, Api))
    return next((spec for name in names if (spec := layer_specs.SPECS.get(name)) is not None), None)


def super_of(frame: Frame) -> Super:
    """Return the value of `super()` in the running method."""
    function = frame.function
    if function is None or function.owner is None or not isinstance(function.receiver, Instance):
        raise Refuse("`super()` is used outside of a method")
    return Super(function.owner, function.receiver)
