"""Creates and calls layers in the interpreter: `nn.Linear`, containers, classes of the file, `ParamAttr`."""

from __future__ import annotations

import ast
import re

from migrate.source.paddle.interpreter.run import Frame, Run
from migrate.source.paddle.mapping.values import (
    UNKNOWN,
    Class,
    Container,
    Function,
    Initializer,
    Instance,
    LayerValue,
    Linear,
    ParamAttr,
    RawInput,
    Refuse,
    Super,
    Tensor,
    Unknown,
    Value,
    mentions,
)

#: Parameters of `ParamAttr`, in order, with their defaults.
PARAM_ATTR_DEFAULTS: dict[str, Value] = {
    "name": None,
    "initializer": None,
    "learning_rate": 1.0,
    "regularizer": None,
    "trainable": True,
    "do_model_average": True,
    "need_clip": True,
}
_LINEAR = ("in_features", "out_features", "weight_attr", "bias_attr", "name")
NAME = re.compile(r"[A-Za-z0-9_-]+")
NAME_RULE = "names of TensorFlow variables consist of ASCII letters, digits, `_` and `-`"
#: Names that the emitted layers use.
RESERVED_ATTRIBUTES = frozenset(
    {
        "path",
        "columns",
        "name_layers",
        "create_variables",
        "input_layers",
        "table_layers",
        "embedding_tables",
        "emb_dim",
        "embedding_initializer",
        "_sub_layers",
    }
)


def linear(run: Run, node: ast.Call, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Create an `nn.Linear`."""
    bound: dict[str, Value] = dict.fromkeys(_LINEAR) | dict(zip(_LINEAR, positional, strict=False))
    unknown = [name for name in keywords if name not in _LINEAR]
    if unknown or len(positional) > len(_LINEAR):
        raise Refuse(f"argument `{(unknown or ['?'])[0]}` of `nn.Linear` is not supported")
    bound |= keywords
    if mentions(list(bound.values()), Unknown):
        return UNKNOWN
    if run.built:
        raise Refuse("a layer is created in `forward`, with new parameters in each call; create it in the constructor")
    sizes: tuple[Value, Value] = (bound["in_features"], bound["out_features"])
    if not all(type(size) is int and size > 0 for size in sizes):
        raise Refuse(f"the sizes of this layer are {sizes[0]!r} and {sizes[1]!r}; they must be positive integers")
    weight, bias = _attr(bound["weight_attr"], "weight"), _attr(bound["bias_attr"], "bias")
    assert not isinstance(weight, bool), "`_weight` must not be False"
    layer = Linear(run.frame.module.span(node), {}, sizes[0], sizes[1], weight, bias)
    run.linears.append(layer)
    return layer


def _attr(value: Value, what: str) -> Initializer | bool | None:
    if value is None or isinstance(value, Initializer):
        return value
    if isinstance(value, ParamAttr):
        return value.initializer
    if value is False and what == "bias":
        return False
    if isinstance(value, str):
        raise Refuse("a parameter given by its name may be shared with another layer; give an initialiser instead")
    raise Refuse(f"`{what}_attr` is {value!r}; give an initialiser or a ParamAttr")


def param_attr(run: Run, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Create a `paddle.ParamAttr`; raises `Refuse` for settings that affect training and cannot be converted."""
    names = list(PARAM_ATTR_DEFAULTS)
    bound = dict(zip(names, positional, strict=False)) | keywords
    if mentions(list(bound.values()), Unknown):
        return UNKNOWN
    for name, value in bound.items():
        if name not in PARAM_ATTR_DEFAULTS:
            raise Refuse(f"`{name}` of `ParamAttr` is not supported")
        if name not in {"name", "initializer"} and value != PARAM_ATTR_DEFAULTS[name]:
            raise Refuse(f"`{name}={value!r}` of `ParamAttr` changes how the parameter trains and is not converted")
    initializer, label = bound.get("initializer"), bound.get("name")
    if initializer is not None and not isinstance(initializer, Initializer):
        raise Refuse("this `initializer` of `ParamAttr` is not supported")
    if label is not None:
        if label in run.parameter_names:
            raise Refuse(f"two parameters have the name {label!r}; use different names")
        run.parameter_names.add(label)
    return ParamAttr(initializer)


def call_linear(layer: Linear, value: Value) -> Value:
    """Call a Linear, and record whether it reads the raw input."""
    if isinstance(value, RawInput):
        layer.fed_raw = True
        shape: tuple[int | None, ...] = (None, layer.out_features)
    elif isinstance(value, Tensor):
        layer.fed_tensor = True
        if value.shape is None:
            return value
        if len(value.shape) < 2:
            raise Refuse("the input of a layer has no batch dimension, which TensorFlow's matmul needs")
        if value.shape[-1] not in (None, layer.in_features):
            raise Refuse(f"the input of a layer for {layer.in_features} columns has {value.shape[-1]} columns")
        shape = (*value.shape[:-1], layer.out_features)
    else:
        raise Refuse(f"the input of a layer is {type(value).__name__}, not a tensor")
    if layer.fed_raw and layer.fed_tensor:
        raise Refuse("one layer is called on the raw input and on another tensor; use two layers")
    return Tensor(shape)


def container(run: Run, node: ast.Call, kind: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Create an `nn.Sequential` or `nn.LayerList`, whose layers are named 0, 1, 2, …"""
    if mentions([positional, keywords], Unknown):
        return UNKNOWN
    if keywords:
        raise Refuse(f"`nn.{kind}` has the keyword argument `{next(iter(keywords))}`; pass the layers by position")
    items = list(positional[0]) if kind == "LayerList" and positional else positional
    if isinstance(items, list) and kind == "Sequential" and len(items) == 1 and isinstance(items[0], list):
        raise Refuse("`nn.Sequential` takes layers as arguments, not a list; write `nn.Sequential(*layers)`")
    result = Container(run.frame.module.span(node), {}, kind)
    for item in items:
        _append(result, item)
    return result


def _append(target: Container, item: Value) -> None:
    if not isinstance(item, LayerValue):
        raise Refuse(f"`nn.{target.kind}` contains {type(item).__name__}; only layers are supported")
    target.sublayers[str(len(target.sublayers))] = item


def call_container_method(run: Run, target: Container, name: str, positional: list[Value]) -> None:
    """Call `append` or `extend` of a LayerList."""
    if run.built:
        raise Refuse("a list of layers is changed in `forward`; change it in the constructor")
    if target.kind != "LayerList" or name not in {"append", "extend"} or len(positional) != 1:
        raise Refuse(f"method `{name}` of `nn.{target.kind}` is not supported")
    for item in [positional[0]] if name == "append" else list(positional[0]):
        _append(target, item)


def instantiate(run: Run, node: ast.Call, cls: Class, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Create an object of a class of the file by interpreting its constructor."""
    made = Instance(run.frame.module.span(node), {}, cls)
    run.instances.append(made)
    found = cls.find("__init__")
    if found is not None:
        run.call_function(Function(found[0], found[1].module, found[1], made), positional, keywords)
    elif positional or keywords:
        raise Refuse(f"`{cls.name}` takes no constructor arguments")
    return made


def call_super(run: Run, sup: Super, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Call a method of the base class."""
    found = sup.owner.base.find(name) if sup.owner.base else None
    if found is not None:
        return run.call_function(Function(found[0], found[1].module, found[1], sup.receiver), positional, keywords)
    if name != "__init__" or positional or keywords:
        raise Refuse(f"`super().{name}` with these arguments is not supported")
    return None


def call_layer_api(run: Run, target: Instance, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Call `add_sublayer`, the only supported method of `nn.Layer`."""
    if name != "add_sublayer":
        raise Refuse(f"`{name}` is neither a method of this class nor a supported method of `nn.Layer`")
    if run.built:
        raise Refuse("a layer is kept here, outside the constructor; do so there")
    bound = dict(zip(("name", "sublayer"), positional, strict=False)) | keywords
    key, layer = bound.get("name"), bound.get("sublayer")
    if isinstance(layer, Unknown) or isinstance(key, Unknown):
        return UNKNOWN
    if not isinstance(key, str) or not key or not isinstance(layer, LayerValue):
        raise Refuse("`add_sublayer` needs a name and a layer that can be determined")
    if not NAME.fullmatch(key):
        raise Refuse(f"a layer has the name {key!r}, but {NAME_RULE}")
    if key in target.sublayers and target.sublayers[key] is not layer:
        raise Refuse(f"two layers have the name {key!r}, and Paddle does not train the first; rename one of them")
    taken = key in target.attributes or key in RESERVED_ATTRIBUTES or (target.cls and target.cls.find(key))
    if taken and target.attributes.get(key) is not layer:
        raise Refuse(f"the name {key!r} of this layer is also an attribute; rename one of them")
    target.sublayers[key] = layer
    return layer


def super_of(frame: Frame) -> Super:
    """Return the value of `super()` in the current method."""
    function = frame.owner
    if function is None or function.owner is None or not isinstance(function.receiver, Instance):
        raise Refuse("`super()` is used outside of a method")
    return Super(function.owner, function.receiver)
