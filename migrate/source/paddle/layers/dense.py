"""Linear layers, embeddings, dropout, and activations."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import LayerSpec, Weights, one_tensor, positive, same, weight_and_bias
from migrate.source.paddle.ops.shaping import flattened
from migrate.source.paddle.ops.spec import Arguments


def _linear_weights(bound: Arguments) -> Weights:
    rows, columns = (positive(bound[name], name) for name in ("in_features", "out_features"))
    return weight_and_bias(bound, (rows, columns), (columns,))


def _linear(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    x = one_tensor(layer, positional, keywords)
    rows, columns = layer.weights["weight"].shape or (None, None)
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


def _flatten(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    return flattened({"x": one_tensor(layer, positional, keywords), **layer.arguments})


_ALIKE = (
    "Dropout(p=0.5, axis=None, mode='upscale_in_train', name=None)",
    "Dropout2D(p=0.5, data_format='NCHW', name=None)",
    "ReLU(name=None)",
    "ReLU6(name=None)",
    "Sigmoid(name=None)",
    "LogSigmoid(name=None)",
    "Hardsigmoid(name=None)",
    "Hardswish(name=None)",
    "Tanh(name=None)",
    "Softmax(axis=-1, name=None)",
    "LogSoftmax(axis=-1, name=None)",
    "LeakyReLU(negative_slope=0.01, name=None)",
    "GELU(approximate=False, name=None)",
    "ELU(alpha=1.0, name=None)",
    "SELU(scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717, name=None)",
    "Softplus(beta=1, threshold=20, name=None)",
    "Swish(name=None)",
    "Silu(name=None)",
    "Mish(name=None)",
    "Identity(*args)",
)
SPECS: tuple[LayerSpec, ...] = (
    LayerSpec(
        "paddle.nn.Linear(in_features, out_features, weight_attr=None, bias_attr=None, name=None)",
        _linear,
        _linear_weights,
    ),
    LayerSpec(
        "paddle.nn.Embedding(num_embeddings, embedding_dim, padding_idx=None, sparse=False, weight_attr=None, "
        "name=None)",
        _embedding,
        _embedding_weights,
    ),
    LayerSpec("paddle.nn.Flatten(start_axis=1, stop_axis=-1)", _flatten),
    LayerSpec(
        "paddle.nn.PReLU(num_parameters=1, init=0.25, weight_attr=None, data_format='NCHW', name=None)",
        same,
        lambda bound: {"_weight": Weight((bound["num_parameters"],), attr=bound["weight_attr"])},
    ),
    *(LayerSpec("paddle.nn." + signature, same) for signature in _ALIKE),
)
