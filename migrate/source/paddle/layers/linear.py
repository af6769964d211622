"""Linear layers, and those that pass their input."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value
from migrate.source.paddle.layers.spec import Caller, LayerSpec, Weights, one_float, positive, same, weight_and_bias
from migrate.source.paddle.ops.spec import Arguments


def _weights(bound: Arguments) -> Weights:
    rows, columns = (positive(bound[name], name) for name in ("in_features", "out_features"))
    return weight_and_bias(bound, (rows, columns), (columns,))


def _call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    x = one_float(layer, positional, keywords)
    rows, columns = layer.arguments["in_features"], layer.arguments["out_features"]
    if x.shape is None:
        return Tensor(None, x.dtype)
    if not x.shape or x.shape[-1] not in (None, rows):
        raise Refuse(f"the input of a layer for {rows} columns has the shape {list(x.shape)}, which does not fit")
    return Tensor((*x.shape[:-1], columns), x.dtype)


LINEAR = LayerSpec(
    "paddle.nn.Linear(in_features, out_features, weight_attr=None, bias_attr=None, name=None)", _call, _weights
)
SPECS: tuple[LayerSpec, ...] = (LINEAR, LayerSpec("paddle.nn.Identity(*args)", same))
