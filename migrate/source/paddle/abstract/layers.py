"""Makes and calls layers and containers: Paddle's, and classes of the program that derive from them."""

from __future__ import annotations

import ast

from migrate.source.paddle.abstract import attributes
from migrate.source.paddle.abstract.attributes import is_layer
from migrate.source.paddle.abstract.libraries import records
from migrate.source.paddle.abstract.run import Run, derive
from migrate.source.paddle.abstract.values import (
    UNKNOWN,
    Class,
    Container,
    Described,
    Function,
    Instance,
    Layer,
    LayerValue,
    OneHot,
    Refuse,
    Super,
    Unknown,
    Value,
    Weight,
    mentions,
)
from migrate.source.paddle.layers import registry as layer_specs
from migrate.source.paddle.layers.basic import LINEAR
from migrate.source.paddle.layers.spec import LayerSpec
from migrate.source.paddle.ops import registry
from migrate.source.paddle.ops.described import DESCRIBED
from migrate.source.paddle.ops.shapes import dtype_name


def make(run: Run, node: ast.AST, name: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Make an object of Paddle: a layer, a container, a parameter, or something that is kept as it is."""
    if mentions([positional, keywords], Unknown):
        return UNKNOWN
    if name in registry.CONTAINERS:
        return make_container(run, node, registry.CONTAINERS[name], positional, keywords)
    spec = layer_specs.SPECS.get(name)
    if spec is not None:
        return _stock(run, node, spec, positional, keywords)
    if name == "paddle.create_parameter":
        pairs = zip(("shape", "dtype", "name", "attr", "is_bias", "default_initializer"), positional, strict=False)
        return _parameter(run, node, dict(pairs) | keywords)
    if (signature := DESCRIBED.get(name)) is not None:
        if name.startswith("paddle.optimizer."):
            run.only_named(node)
        return Described(name, signature.bind(positional, keywords))
    raise Refuse(f"`{name}` is not supported")


def _stock(run: Run, node: ast.AST, spec: LayerSpec, positional: list[Value], keywords: dict[str, Value]) -> Layer:
    """Make a layer of Paddle."""
    layer = spec.build(spec.bind(positional, keywords), *run.place(node))
    if any(part.weights for part in registered(layer)):
        run.lasting.makes_weights()
    for _, part in named_layers(layer):
        for weight in part.weights.values():
            weight.place = run.place(node) if not weight.place[0] else weight.place
    run.layers.append(layer)
    return layer


def _parameter(run: Run, node: ast.AST, bound: dict[str, Value]) -> Value:
    attr, shape = bound.get("attr"), bound.get("shape")
    if attr is False:
        return None
    if not isinstance(shape, (list, tuple)) or not all(isinstance(size, int) for size in shape):
        raise Refuse("the shape of a parameter must be a list of numbers")
    dtype = dtype_name(bound.get("dtype"), "float32")
    if dtype == "bool":
        raise Refuse("a parameter of `bool` has a gradient in Paddle and none in TensorFlow; give it a float type")
    run.lasting.makes_weights()
    weight = Weight(tuple(shape), dtype, attr=attr, place=run.place(node))
    run.parameters.append(weight)
    return weight


def instantiate(run: Run, node: ast.AST, cls: Class, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Make an object of a class of the program by executing its constructor."""
    instance = Instance(*run.place(node), cls=cls)
    run.layers.append(instance)
    for base in (base for item in cls.order for base in item.bases):
        if getattr(base, "name", "") in registry.CONTAINERS:
            raise Refuse(f"`{cls.name}` derives from `{base.name}`; hold one in a class that derives from `nn.Layer`")
    constructor, plain = cls.method("__init__", instance), records.constructor(cls)
    if plain is not None:
        _fill(run, node, instance, plain, positional, keywords)
    elif constructor is not None:
        run.call_function(constructor, positional, keywords)
    elif attributes.stock_of(cls) is not None:
        _become(run, node, instance, positional, keywords)
    elif positional or keywords:
        raise Refuse(
            f"`{cls.name}` has no `__init__` with arguments in the files of this folder; write one, or put the "
            "class that it derives from into this folder"
        )
    return instance


def _fill(
    run: Run, node: ast.AST, instance: Instance, plain: type[Value], positional: list[Value], keywords: dict[str, Value]
) -> None:
    """Execute the constructor of a data class."""
    records.fill(instance, plain, positional, keywords)
    if instance.cls.find("__post_init__") is not None:
        attributes.special(run, node, instance, "__post_init__")


def _become(run: Run, node: ast.AST, instance: Instance, positional: list[Value], keywords: dict[str, Value]) -> None:
    """Make an object what its base class of Paddle is."""
    spec = attributes.stock_of(instance.cls)
    assert spec is not None
    instance.stock = _stock(run, node, spec, positional, keywords)
    instance.weights |= instance.stock.weights
    instance.sublayers |= instance.stock.sublayers


def forward(run: Run, node: ast.AST, layer: LayerValue, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Call a layer on its inputs."""
    if isinstance(layer, Instance):
        name = "forward" if is_layer(layer) else "__call__"
        definition = layer.cls.find(name) or layer.cls.find("__call__")
        if definition is None and layer.stock is not None:
            return _stock_forward(run, node, layer.stock, positional, keywords)
        if definition is None:
            raise Refuse(f"`{layer.cls.name}` has no method `{name}`")
        method = attributes.bound(run, node, definition, layer)
        if isinstance(method, Function):
            return run.call_function(method, positional, keywords)
        return run.call(node, method, positional, keywords)
    if mentions([positional, keywords], Unknown):
        return UNKNOWN
    if isinstance(layer, Layer):
        return _stock_forward(run, node, layer, positional, keywords)
    if isinstance(layer, Container) and layer.kind == "Sequential" and len(positional) == 1:
        value = positional[0]
        for item in layer.items:
            value = run.call(node, item, [value], {})
        return value
    raise Refuse("a list of layers cannot be called; call its items")


def _stock_forward(run: Run, node: ast.AST, layer: Layer, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Call a layer of Paddle."""
    layer.calls += 1
    if mentions([positional, keywords], OneHot):
        if layer.name != LINEAR.name:
            raise Refuse(f"only `nn.Linear` may read the one-hot input, and `{layer.name}` needs its columns")
        layer.lookups += 1
    if 0 < layer.lookups < layer.calls:
        raise Refuse("one layer is called on the one-hot input and on another tensor; use two layers")
    spec = layer_specs.SPECS[layer.name]
    result = spec.call(layer, positional, keywords, lambda part, inputs: forward(run, node, part, inputs, {}))
    derive(result, [positional, keywords, [list(part.weights.values()) for _, part in named_layers(layer)]])
    return result


def super_method(
    run: Run, node: ast.AST, sup: Super, name: str, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    """Call a method of a base class."""
    plain = records.constructor(sup.receiver.cls, sup.owner) if name == "__init__" else None
    if plain is not None:
        return _fill(run, node, sup.receiver, plain, positional, keywords)
    method = sup.receiver.cls.method(name, sup.receiver, after=sup.owner)
    if method is not None:
        return run.call_function(method, positional, keywords)
    if name == "__init__":
        if attributes.stock_of(sup.receiver.cls) is not None:
            _become(run, node, sup.receiver, positional, keywords)
        return None
    if name == "forward" and sup.receiver.stock is not None:
        return _stock_forward(run, node, sup.receiver.stock, positional, keywords)
    if name == "__setattr__":
        return run.set_attribute(node, sup.receiver, *positional)
    return own_method(run, node, sup.receiver, name, positional, keywords)


def own_method(
    run: Run, node: ast.AST, target: LayerValue, name: str, positional: list[Value], keywords: dict[str, Value]
) -> Value:
    """Call a method that layers and containers have in Paddle."""
    if name == "forward":
        return forward(run, node, target, positional, keywords)
    if isinstance(target, Container) and name in CONTAINER_METHODS[target.kind]:
        return call_container(target, name, positional)
    if name in {"add_sublayer", "add_parameter", "register_buffer"}:
        first, second = {"add_sublayer": ("name", "sublayer"), "add_parameter": ("name", "parameter")}.get(
            name, ("name", "tensor")
        )
        bound = dict(zip((first, second), positional, strict=False)) | keywords
        return _register(run, node, target, name, bound[first], bound[second])
    if name == "create_parameter":
        pairs = zip(("shape", "attr", "dtype", "is_bias", "default_initializer"), positional, strict=False)
        return _parameter(run, node, dict(pairs) | keywords)
    if name in {"train", "eval"}:
        return set_training(target, name == "train")
    if name in _LISTS:
        return _listed(target, name)
    if name == "apply":
        for item in [*registered(target)[1:], target]:
            run.call(node, positional[0], [item], {})
        return target
    if name == "full_name":
        return "layer"
    raise Refuse(f"`{name}` is neither a method of this class nor a supported method of layers")


_LISTS = frozenset({"parameters", "sublayers", "children", "named_parameters", "named_sublayers", "named_children"})


def _listed(target: LayerValue, name: str) -> Value:
    """Return what a method such as `named_parameters` lists, in Paddle's order."""
    if name.endswith("children"):
        pairs: list[tuple[str, Value]] = list(target.sublayers.items())
    elif name.endswith("sublayers"):
        pairs = [(path, layer) for path, layer in named_layers(target) if layer is not target]
    else:
        seen: dict[int, tuple[str, Value]] = {}
        for path, layer in named_layers(target):
            for key, weight in layer.weights.items():
                seen.setdefault(id(weight), (f"{path}.{key}" if path else key, weight))
        pairs = list(seen.values())
    return pairs if name.startswith("named") else [item for _, item in pairs]


def named_layers(layer: LayerValue) -> list[tuple[str, LayerValue]]:
    """Return (path, layer) for a layer and all below it, each once by the first of its names."""
    seen: set[int] = set()

    def below(item: LayerValue, path: str) -> list[tuple[str, LayerValue]]:
        if id(item) in seen:
            return []
        seen.add(id(item))
        named = [(path, item)]
        for name, child in item.sublayers.items():
            named += below(child, f"{path}.{name}" if path else name)
        return named

    return below(layer, "")


def _register(run: Run, node: ast.AST, target: LayerValue, how: str, name: Value, value: Value) -> Value:
    if not isinstance(name, str) or isinstance(value, Unknown):
        return UNKNOWN
    if how == "add_sublayer":
        if not is_layer(value):
            raise Refuse(f"`add_sublayer` gets {type(value).__name__}, not a layer")
        run.rename(node, name, target.sublayers.get(name), value)
        target.sublayers[name] = value
    elif isinstance(value, Weight):
        run.rename(node, name, target.weights.get(name), value)
        target.weights[name] = value
    if isinstance(target, Instance):
        target.attributes[name] = value
    return value


def set_training(layer: LayerValue, training: bool) -> None:
    """Set whether a layer and all below it train."""
    layer.training = training
    for item in layer.sublayers.values():
        set_training(item, training)


def registered(layer: LayerValue) -> list[LayerValue]:
    """Return a layer and all that are registered below it, each once."""
    return [item for _, item in named_layers(layer)]


def make_container(run: Run, node: ast.AST, kind: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Make a container with the layers or parameters that it is given."""
    result = Container(*run.place(node), kind=kind)
    run.layers.append(result)
    if kind == "LayerDict":
        for name, item in dict(positional[0] if positional else {}).items():
            hold(result, name, item)
        return result
    items = positional
    if kind != "Sequential":
        items = (
            list(positional[0]) if positional and positional[0] is not None else list(next(iter(keywords.values()), []))
        )
    for item in items:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
            hold(result, *item)
        else:
            _append(result, item)
    return result


def hold(target: Container, name: str, item: Value) -> None:
    """Register what a container is given under a name; what is not known has been refused where it was made."""
    if isinstance(item, Unknown):
        return
    if target.kind == "ParameterList":
        if not isinstance(item, Weight):
            raise Refuse("an `nn.ParameterList` holds parameters")
        target.weights[name] = item
    elif not is_layer(item):
        raise Refuse(f"`nn.{target.kind}` holds layers, not {type(item).__name__}")
    else:
        target.sublayers[name] = item


def _append(target: Container, item: Value) -> None:
    hold(target, str(len(target.items)), item)


#: Methods of containers.
CONTAINER_METHODS: dict[str, frozenset[str]] = {
    "Sequential": frozenset(),
    "LayerList": frozenset({"append", "extend", "insert"}),
    "ParameterList": frozenset({"append"}),
    "LayerDict": frozenset({"items", "keys", "values", "update", "pop", "clear"}),
}


def call_container(target: Container, name: str, positional: list[Value]) -> Value:
    """Call a method of a container; layers of lists are numbered in their order."""
    if name in {"items", "keys", "values"}:
        return list(getattr(target.sublayers, name)())
    if name == "update":
        added = positional[0]
        for key, item in dict(added.sublayers if isinstance(added, Container) else added).items():
            hold(target, key, item)
        return None
    if name in {"pop", "clear"}:
        return getattr(target.sublayers, name)(*positional)
    if name == "insert":
        items = target.items
        items.insert(*positional)
        target.sublayers.clear()
    else:
        added = positional[0]
        items = [added] if name == "append" else list(added.items if isinstance(added, Container) else added)
    for item in items:
        _append(target, item)
    return target
