"""Ops that reduce dimensions."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.conditions import both, floating
from migrate.source.paddle.ops.shapes import axis_of, dtype_name, reduced, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _has_axes(bound: Arguments) -> bool:
    return bound["axis"] not in ([], ())


def _reduce(tf: str) -> Form:
    return Form(f"{tf}(input_tensor=x, axis=axis, keepdims=keepdim)", both(floating, _has_axes))


def _summed(dtype: str | None) -> str | None:
    return "int64" if dtype in {"bool", "int32"} else dtype


def _position(bound: Arguments) -> Tensor:
    found = reduced(lambda name: "int64")(bound)
    return Tensor(found.shape, dtype_name(bound["dtype"], "int64"))


def _cumsum(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if bound["axis"] is not None and x.shape is not None:
        axis_of(bound["axis"], len(x.shape))
    return Tensor(x.shape if bound["axis"] is not None else (None,), dtype_name(bound["dtype"], _summed(x.dtype)))


OPS: tuple[Op, ...] = (
    Op(
        "paddle.sum(x, axis=None, dtype=None, keepdim=False, name=None)",
        reduced(_summed),
        (_reduce("tf.reduce_sum"),),
        ("sum",),
        examples=(
            "paddle.sum(f_2_3, axis=1)",
            "paddle.sum(f_2_3)",
            "paddle.sum(i_2_3)",
            "f_2_3.sum(axis=0, keepdim=True)",
        ),
    ),
    Op("paddle.mean(x, axis=None, keepdim=False, name=None)", reduced(), (_reduce("tf.reduce_mean"),), ("mean",)),
    Op("paddle.max(x, axis=None, keepdim=False, name=None)", reduced(), methods=("max",)),
    Op("paddle.min(x, axis=None, keepdim=False, name=None)", reduced(), methods=("min",)),
    Op("paddle.prod(x, axis=None, keepdim=False, dtype=None, name=None)", reduced(_summed), methods=("prod",)),
    Op("paddle.argmax(x, axis=None, keepdim=False, dtype='int64', name=None)", _position, methods=("argmax",)),
    Op("paddle.argmin(x, axis=None, keepdim=False, dtype='int64', name=None)", _position, methods=("argmin",)),
    Op("paddle.any(x, axis=None, keepdim=False, name=None)", reduced(), methods=("any",)),
    Op("paddle.all(x, axis=None, keepdim=False, name=None)", reduced(), methods=("all",)),
    Op("paddle.cumsum(x, axis=None, dtype=None, name=None)", _cumsum, methods=("cumsum",)),
    Op("paddle.norm(x, p='fro', axis=None, keepdim=False, name=None)", reduced(), methods=("norm",)),
)
