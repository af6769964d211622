"""Activations, as functions; their layers have the same name in `runtime.nn`."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.conditions import floating
from migrate.source.paddle.ops.shapes import axis_of, broadcast, dtype_name, same_float, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op

_F = "paddle.nn.functional"


def _softmax(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is not None:
        axis_of(bound["axis"], len(x.shape))
    return Tensor(x.shape, dtype_name(bound["dtype"], x.dtype))


def _ranked(bound: Arguments) -> bool:
    x = bound["x"]
    return isinstance(x, Tensor) and bool(x.rank) and x.floating


def _similarity(bound: Arguments) -> Tensor:
    shape = broadcast(tensor(bound["x1"]).shape, tensor(bound["x2"]).shape)
    if shape is None:
        return Tensor(None)
    axis = axis_of(bound["axis"], len(shape))
    return Tensor((*shape[:axis], *shape[axis + 1 :]))


def _linear(bound: Arguments) -> Tensor:
    x, weight = tensor(bound["x"]), tensor(bound["weight"])
    if weight.shape is None or len(weight.shape) != 2:
        raise Refuse("the weight of `linear` must be a matrix")
    return Tensor(None if x.shape is None else (*x.shape[:-1], weight.shape[1]), x.dtype)


OPS: tuple[Op, ...] = (
    Op(
        f"{_F}.relu(x, name=None)",
        same_float,
        (Form("tf.nn.relu(features=x)", floating),),
        examples=(f"{_F}.relu(f_2_3)",),
    ),
    Op(
        f"{_F}.sigmoid(x, name=None)",
        same_float,
        (Form("tf.sigmoid(x=x)", floating),),
        ("sigmoid",),
        ("paddle.sigmoid",),
    ),
    Op(f"{_F}.tanh(x, name=None)", same_float, (Form("tf.tanh(x=x)", floating),)),
    Op(
        f"{_F}.selu(x, scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717, name=None)",
        same_float,
    ),
    Op(f"{_F}.gelu(x, approximate=False, name=None)", same_float),
    Op(f"{_F}.leaky_relu(x, negative_slope=0.01, name=None)", same_float),
    Op(f"{_F}.softplus(x, beta=1, threshold=20, name=None)", same_float),
    Op(
        f"{_F}.softmax(x, axis=-1, dtype=None, name=None)",
        _softmax,
        (Form("tf.nn.softmax(logits=x, axis=axis)", _ranked),),
    ),
    Op(f"{_F}.log_softmax(x, axis=-1, dtype=None, name=None)", _softmax),
    Op(f"{_F}.normalize(x, p=2, axis=1, epsilon=1e-12, name=None)", same_float),
    Op(f"{_F}.cosine_similarity(x1, x2, axis=1, eps=1e-08)", _similarity),
    Op(f"{_F}.dropout(x, p=0.5, axis=None, training=True, mode='upscale_in_train', name=None)", same_float),
    Op(f"{_F}.linear(x, weight, bias=None, name=None)", _linear),
)
