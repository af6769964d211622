"""Paddle's layers: their constructors, their weights, and the shapes of what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.ops import activation
from migrate.source.paddle.ops.shapes import described
from migrate.source.paddle.ops.spec import Arguments, Op

Weights = dict[str, Weight]


@dataclass(frozen=True)
class LayerSpec:
    """One layer class of Paddle, which `runtime.nn` has under the same name."""

    paddle: str  #: the constructor's signature
    call: Callable[[Layer, list[Value], Mapping[str, Value]], Value]  #: what the layer returns
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


def positive(value: Value, what: str) -> int:
    """Return a size of a layer; raises `Refuse` unless it is a positive number."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise Refuse(f"the {what} of this layer is {value!r}; it must be a positive integer")
    return value


def weight_and_bias(bound: Arguments, shape: tuple[int, ...], bias: tuple[int, ...]) -> Weights:
    """Return the weights `weight` and, unless `bias_attr` is False, `bias`."""
    found = {"weight": Weight(shape, attr=bound.get("weight_attr"))}
    if bound.get("bias_attr") is not False:
        found["bias"] = Weight(bias, attr=bound.get("bias_attr"))
    return found


def _linear_weights(bound: Arguments) -> Weights:
    rows, columns = (positive(bound[name], name) for name in ("in_features", "out_features"))
    return weight_and_bias(bound, (rows, columns), (columns,))


def _linear(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    x, (rows, columns) = one_tensor(layer, positional, keywords), layer.weights["weight"].shape or (None, None)
    if x.shape is None:
        return Tensor(None, x.dtype)
    if not x.shape or x.shape[-1] not in (None, rows):
        raise Refuse(f"the input of a layer for {rows} columns has the shape {list(x.shape)}")
    return Tensor((*x.shape[:-1], columns), x.dtype)


def _embedding_weights(bound: Arguments) -> Weights:
    rows, columns = (positive(bound[name], name) for name in ("num_embeddings", "embedding_dim"))
    return {"weight": Weight((rows, columns), attr=bound["weight_attr"])}


def _embedding(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    x = one_tensor(layer, positional, keywords)
    if x.dtype not in (None, "int32", "int64"):
        raise Refuse(f"the ids of an embedding are {x.dtype}, not integers")
    return Tensor(None if x.shape is None else (*x.shape, layer.arguments["embedding_dim"]), "float32")


def same(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    """The result is like the input."""
    x = one_tensor(layer, positional, keywords)
    return Tensor(x.shape, x.dtype)


_CORE = (
    LayerSpec(
        "paddle.nn.Linear(in_features, out_features, weight_attr=None, bias_attr=None, name=None)",
        _linear,
        _linear_weights,
    ),
    LayerSpec(
        "paddle.nn.Embedding(num_embeddings, embedding_dim, padding_idx=None, sparse=False, weight_attr=None, name=None)",
        _embedding,
        _embedding_weights,
    ),
    LayerSpec("paddle.nn.Dropout(p=0.5, axis=None, mode='upscale_in_train', name=None)", same),
    LayerSpec("paddle.nn.Identity(*args)", same),
    *(LayerSpec(signature, same) for signature in activation.LAYERS),
)
_SPECS: dict[str, LayerSpec] = {spec.name: spec for spec in _CORE}


def find(name: str) -> LayerSpec | None:
    """Return the spec of a layer class by Paddle's dotted name, or None."""
    return _SPECS.get(name)
