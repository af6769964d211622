"""What a layer is: the constructor's signature, the weights, and the shape and dtype of what a call returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.ops.shapes import described
from migrate.source.paddle.ops.spec import Arguments, Op

Weights = dict[str, Weight]
Call = Callable[[Layer, list[Value], Mapping[str, Value]], Value]


@dataclass(frozen=True)
class LayerSpec:
    """One layer class of Paddle, which `runtime.nn` has under the same name."""

    paddle: str  #: the constructor's signature
    call: Call  #: what the layer returns
    weights: Callable[[Arguments], Weights] = lambda bound: {}

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


def one_tensor(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Tensor:
    """Return the only input of a layer; raises `Refuse` if there is another."""
    given = [*positional, *keywords.values()]
    if len(given) != 1 or not isinstance(given[0], Tensor):
        what = described(given[0]) if given else "nothing"
        raise Refuse(f"the input of `{layer.name}` is {what}{', and more' if len(given) > 1 else ''}, not a tensor")
    return given[0]


def called(signature: str, positional: list[Value], keywords: Mapping[str, Value]) -> dict[str, Value]:
    """Return the arguments of a call by a signature such as `forward(query, key=None)`; raises `Refuse`."""
    return Op(signature, lambda bound: None).bind(positional, keywords)


def positive(value: Value, what: str) -> int:
    """Return a size of a layer; raises `Refuse` unless it is a positive number."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise Refuse(f"the {what} of this layer is {value!r}; it must be a positive integer")
    return value


def weight_and_bias(bound: Arguments, shape: tuple[int, ...], bias: tuple[int, ...]) -> Weights:
    """Return the weights `weight` and, unless `bias_attr` is False, `bias`."""
    found = {} if bound.get("weight_attr") is False else {"weight": Weight(shape, attr=bound.get("weight_attr"))}
    if bound.get("bias_attr") is not False:
        found["bias"] = Weight(bias, attr=bound.get("bias_attr"))
    return found


def same(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    """The result is like the input."""
    x = one_tensor(layer, positional, keywords)
    return Tensor(x.shape, x.dtype)
