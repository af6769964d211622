"""What a layer is: the constructor's signature, the weights, and the shape and dtype of what a call returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from migrate.source.paddle.abstract.values import Layer, LayerValue, Refuse, Tensor, Value, Weight
from migrate.source.paddle.ops.shapes import described
from migrate.source.paddle.ops.spec import Arguments, Op

Weights = dict[str, Weight]
Sublayers = dict[str, LayerValue]
#: Calls a layer, of Paddle or of the program, with positional inputs.
Caller = Callable[[LayerValue, list[Value]], Value]
Call = Callable[[Layer, list[Value], Mapping[str, Value], Caller], Value]


@dataclass(frozen=True)
class LayerSpec:
    """One layer class of Paddle, which `runtime.nn` has under the same name."""

    paddle: str  #: the constructor's signature
    call: Call  #: what the layer returns
    weights: Callable[[Arguments], Weights] = lambda bound: {}  #: those that it registers itself, in order
    sublayers: Callable[[Arguments], Sublayers] = lambda bound: {}  #: layers that it is made of
    extend: Callable[[Layer], None] = lambda layer: None  #: registers what needs the sublayers

    @cached_property
    def constructor(self) -> Op:
        """The constructor's signature as an op."""
        return Op(self.paddle, lambda bound: None)

    @property
    def name(self) -> str:
        """Paddle's dotted name."""
        return self.constructor.name

    def bind(self, positional: list[Value], keywords: Mapping[str, Value]) -> dict[str, Value]:
        """Return the constructor's arguments; raises `Refuse`."""
        return self.constructor.bind(positional, keywords)

    def build(self, arguments: Arguments, path: str = "", span: tuple[int, int, int, int] = (1, 0, 1, 0)) -> Layer:
        """Return a layer with its weights and sublayers; raises `Refuse`."""
        layer = Layer(path, span, name=self.name, arguments=arguments)
        layer.weights = self.weights(arguments)
        layer.sublayers = self.sublayers(arguments)
        self.extend(layer)
        return layer

    def of(self, *positional: Value, **keywords: Value) -> Layer:
        """Return a layer that is a part of another; arguments as in Paddle."""
        return self.build(self.bind(list(positional), keywords))


def one_tensor(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Tensor:
    """Return the only input of a layer; raises `Refuse` if there is another."""
    inputs = [*positional, *keywords.values()]
    if len(inputs) != 1 or not isinstance(inputs[0], Tensor):
        what = described(inputs[0]) if inputs else "nothing"
        raise Refuse(f"the input of `{layer.name}` is {what}{', and more' if len(inputs) > 1 else ''}, not a tensor")
    return inputs[0]


def one_float(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Tensor:
    """Return the only input of a layer, which has the dtype of its weights; raises `Refuse`."""
    x = one_tensor(layer, positional, keywords)
    check_float(layer, x)
    return x


def check_float(layer: Layer, x: Tensor) -> None:
    """Raise `Refuse` for an input that is not float32 as weights are."""
    if x.dtype not in (None, "float32"):
        raise Refuse(f"the input of `{layer.name}` is {x.dtype}, and its weights are float32; cast the input")


def called(signature: str, positional: list[Value], keywords: Mapping[str, Value]) -> dict[str, Value]:
    """Return the arguments of a call by a signature such as `forward(query, key=None)`; raises `Refuse`."""
    return Op(signature, lambda bound: None).bind(positional, keywords)


def positive(value: Value, what: str) -> int:
    """Return a size of a layer; raises `Refuse` unless it is a positive number."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise Refuse(f"the {what} of this layer is {value!r}; it must be a positive integer")
    return value


def weight_and_bias(bound: Arguments, shape: tuple[int, ...], bias: tuple[int, ...]) -> Weights:
    """Return the weights `weight` and `bias`, without those whose `weight_attr` or `bias_attr` is False."""
    weights = {} if bound.get("weight_attr") is False else {"weight": Weight(shape, attr=bound.get("weight_attr"))}
    if bound.get("bias_attr") is not False:
        weights["bias"] = Weight(bias, attr=bound.get("bias_attr"))
    return weights


def same(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    """The result is like the input."""
    x = one_tensor(layer, positional, keywords)
    return Tensor(x.shape, x.dtype)


def computes(op: Op) -> Call:
    """Return what layers without weights do: a function, with the constructor's arguments of the same names."""

    def call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
        arguments = {name: value for name, value in layer.arguments.items() if name in op.parameters and name != "name"}
        return op.result(op.bind(positional, {**arguments, **keywords}))

    return call


def computes_on_one(op: Op) -> Call:
    """Return what such a layer with one input does, under whatever name the input is given."""
    on_any = computes(op)

    def call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
        return on_any(layer, [one_tensor(layer, positional, keywords)], {}, caller)

    return call
