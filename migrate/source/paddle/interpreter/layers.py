"""How the interpreter makes and feeds layers: `nn.Linear`, containers, classes of the file, `ParamAttr`."""

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

#: what `ParamAttr` takes, in order
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
NAME_RULE = "TensorFlow's variables take ASCII letters, digits, `_` and `-` only"
#: names the emitted layers use themselves
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
    """Make an `nn.Linear`."""
    bound: dict[str, Value] = dict.fromkeys(_LINEAR) | dict(zip(_LINEAR, positional, strict=False))
    unknown = [name for name in keywords if name not in _LINEAR]
    if unknown or len(positional) > len(_LINEAR):
        raise Refuse(f"argument `{(unknown or ['?'])[0]}` of `nn.Linear` is not understood")
    bound |= keywords
    if mentions(list(bound.values()), Unknown):
        return UNKNOWN
    if run.built:
        raise Refuse("a layer is made in `forward`: it has new parameters at every call; make it in the constructor")
    sizes: tuple[Value, Value] = (bound["in_features"], bound["out_features"])
    if not all(type(size) is int and size > 0 for size in sizes):
        raise Refuse(f"the sizes of this layer are {sizes[0]!r} and {sizes[1]!r}, not two positive integers")
    weight, bias = _attr(bound["weight_attr"], "weight"), _attr(bound["bias_attr"], "bias")
    assert not isinstance(weight, bool), "a weight is never left out"
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
        raise Refuse("a parameter named by a string may be shared with another layer; give an initialiser instead")
    raise Refuse(f"`{what}_attr` is {value!r}, give an initialiser or a ParamAttr")


def param_attr(run: Run, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Make a `paddle.ParamAttr`; what would change training and has no place in the converted code is refused."""
    names = list(PARAM_ATTR_DEFAULTS)
    bound = dict(zip(names, positional, strict=False)) | keywords
    if mentions(list(bound.values()), Unknown):
        return UNKNOWN
    for name, value in bound.items():
        if name not in PARAM_ATTR_DEFAULTS:
            raise Refuse(f"`{name}` of `ParamAttr` is not understood")
        if name not in {"name", "initializer"} and value != PARAM_ATTR_DEFAULTS[name]:
            raise Refuse(f"`{name}={value!r}` of `ParamAttr` changes how the parameter trains and is not carried over")
    initializer, label = bound.get("initializer"), bound.get("name")
    if initializer is not None and not isinstance(initializer, Initializer):
        raise Refuse("`initializer` of `ParamAttr` is not an initialiser of the table")
    if label is not None:
        if label in run.parameter_names:
            raise Refuse(f"two parameters are named {label!r}: Paddle shares or rejects them")
        run.parameter_names.add(label)
    return ParamAttr(initializer)


def call_linear(layer: Linear, value: Value) -> Value:
    """Feed a Linear; remembers whether it read the raw input."""
    if isinstance(value, RawInput):
        layer.fed_raw = True
        shape: tuple[int | None, ...] = (None, layer.out_features)
    elif isinstance(value, Tensor):
        layer.fed_tensor = True
        if value.shape is None:
            return value
        if len(value.shape) < 2:
            raise Refuse("a layer is fed a tensor without a batch dimension, which TensorFlow cannot multiply")
        if value.shape[-1] not in (None, layer.in_features):
            raise Refuse(f"a layer for {layer.in_features} columns is fed {value.shape[-1]} columns")
        shape = (*value.shape[:-1], layer.out_features)
    else:
        raise Refuse(f"a layer is fed {type(value).__name__}, not a tensor")
    if layer.fed_raw and layer.fed_tensor:
        raise Refuse("one layer reads the raw input here and another tensor elsewhere; give each its own layer")
    return Tensor(shape)


def container(run: Run, node: ast.Call, kind: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Make an `nn.Sequential` or `nn.LayerList`; its layers are named 0, 1, 2 …"""
    if mentions([positional, keywords], Unknown):
        return UNKNOWN
    if keywords:
        raise Refuse(f"`nn.{kind}` is given `{next(iter(keywords))}=`; give the layers without a keyword")
    items = list(positional[0]) if kind == "LayerList" and positional else positional
    if isinstance(items, list) and kind == "Sequential" and len(items) == 1 and isinstance(items[0], list):
        raise Refuse("`nn.Sequential` takes its layers as arguments: write `nn.Sequential(*layers)`")
    result = Container(run.frame.module.span(node), {}, kind)
    for item in items:
        _append(result, item)
    return result


def _append(target: Container, item: Value) -> None:
    if not isinstance(item, LayerValue):
        raise Refuse(f"`nn.{target.kind}` holds {type(item).__name__}; only layers are understood")
    target.sublayers[str(len(target.sublayers))] = item


def call_container_method(run: Run, target: Container, name: str, positional: list[Value]) -> None:
    """`append` and `extend` of a LayerList."""
    if run.built:
        raise Refuse("a list of layers is changed in `forward`; do so in the constructor")
    if target.kind != "LayerList" or name not in {"append", "extend"} or len(positional) != 1:
        raise Refuse(f"method `{name}` of `nn.{target.kind}` is not understood")
    for item in [positional[0]] if name == "append" else list(positional[0]):
        _append(target, item)


def instantiate(run: Run, node: ast.Call, cls: Class, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Make an object of a class of the file by running its constructor."""
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
        raise Refuse(f"`super().{name}` with these arguments is not understood")
    return None


def call_layer_api(run: Run, target: Instance, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """`add_sublayer`, the one method of `nn.Layer` that models call on themselves and that is understood."""
    if name != "add_sublayer":
        raise Refuse(f"`{name}` is neither a method of this class nor understood as one of `nn.Layer`")
    if run.built:
        raise Refuse("a layer is kept here, outside the constructor; do so there")
    bound = dict(zip(("name", "sublayer"), positional, strict=False)) | keywords
    key, layer = bound.get("name"), bound.get("sublayer")
    if isinstance(layer, Unknown) or isinstance(key, Unknown):
        return UNKNOWN
    if not isinstance(key, str) or not key or not isinstance(layer, LayerValue):
        raise Refuse("`add_sublayer` needs a name and a layer that can be told")
    if not NAME.fullmatch(key):
        raise Refuse(f"a layer is named {key!r}; {NAME_RULE}")
    if key in target.sublayers and target.sublayers[key] is not layer:
        raise Refuse(f"a second layer is named {key!r}: Paddle forgets the first, which then never trains")
    taken = key in target.attributes or key in RESERVED_ATTRIBUTES or (target.cls and target.cls.find(key))
    if taken and target.attributes.get(key) is not layer:
        raise Refuse(f"the name {key!r} of this layer is also an attribute; rename one of them")
    target.sublayers[key] = layer
    return layer


def super_of(frame: Frame) -> Super:
    """Return what `super()` means in the running method."""
    function = frame.owner
    if function is None or function.owner is None or not isinstance(function.receiver, Instance):
        raise Refuse("`super()` is used outside a method")
    return Super(function.owner, function.receiver)
