"""Linear layers, embeddings and convolutions, which have a weight; dropout and identity, which pass their input."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import (
    Call,
    Caller,
    LayerSpec,
    Weights,
    one_float,
    one_tensor,
    positive,
    same,
    weight_and_bias,
)
from migrate.source.paddle.ops.spec import Arguments
from migrate.source.paddle.ops.windows import convolved, listed


def _matrix(bound: Arguments) -> Weights:
    rows, columns = (positive(bound[name], name) for name in ("in_features", "out_features"))
    return weight_and_bias(bound, (rows, columns), (columns,))


def _product(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    x = one_float(layer, positional, keywords)
    rows, columns = layer.arguments["in_features"], layer.arguments["out_features"]
    if x.shape is None:
        return Tensor(None, x.dtype)
    if not x.shape or x.shape[-1] not in (None, rows):
        raise Refuse(f"the input of a layer for {rows} columns has the shape {list(x.shape)}, which does not fit")
    return Tensor((*x.shape[:-1], columns), x.dtype)


LINEAR = LayerSpec(
    "paddle.nn.Linear(in_features, out_features, weight_attr=None, bias_attr=None, name=None)", _product, _matrix
)


def _rows(bound: Arguments) -> Weights:
    rows, columns = (positive(bound[name], name) for name in ("num_embeddings", "embedding_dim"))
    padding = bound["padding_idx"]
    if padding is not None and not -rows <= padding < rows:
        raise Refuse(f"the padding_idx {padding} is none of the {rows} rows of this embedding")
    return {"weight": Weight((rows, columns), attr=bound["weight_attr"])}


def _looked_up(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    x = one_tensor(layer, positional, keywords)
    if x.dtype not in (None, "int32", "int64"):
        raise Refuse(f"the ids of an embedding are {x.dtype}, not integers")
    layer.ids.append(x)
    return Tensor(None if x.shape is None else (*x.shape, layer.arguments["embedding_dim"]), "float32")


def _kernels(count: int) -> Callable[[Arguments], Weights]:
    def weights(bound: Arguments) -> Weights:
        names = ("in_channels", "out_channels", "groups")
        inputs, outputs, groups = (positive(bound[name], name) for name in names)
        if inputs % groups or outputs % groups:
            raise Refuse(f"{inputs} and {outputs} channels cannot be divided into {groups} groups")
        kernel = listed(bound["kernel_size"], count)
        return weight_and_bias(bound, (outputs, inputs // groups, *kernel), (outputs,))

    return weights


def _conv(count: int) -> Call:
    def call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
        x = one_float(layer, positional, keywords)
        return convolved(x, layer.weights["weight"], layer.arguments, count)

    return call


def _convolution(count: int, layout: str) -> LayerSpec:
    signature = (
        f"paddle.nn.Conv{count}D(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
        f"padding_mode='zeros', weight_attr=None, bias_attr=None, data_format='{layout}')"
    )
    return LayerSpec(signature, _conv(count), _kernels(count))


DROPOUT = LayerSpec("paddle.nn.Dropout(p=0.5, axis=None, mode='upscale_in_train', name=None)", same)
SPECS: tuple[LayerSpec, ...] = (
    LINEAR,
    LayerSpec("paddle.nn.Identity(*args)", same),
    LayerSpec(
        "paddle.nn.Embedding(num_embeddings, embedding_dim, padding_idx=None, sparse=False, weight_attr=None, "
        "name=None)",
        _looked_up,
        _rows,
    ),
    DROPOUT,
    LayerSpec("paddle.nn.Dropout2D(p=0.5, data_format='NCHW', name=None)", same),
    _convolution(1, "NCL"),
    _convolution(2, "NCHW"),
)
