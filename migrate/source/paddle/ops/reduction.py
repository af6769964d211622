"""Ops that reduce dimensions, run along one, or order its elements."""

from __future__ import annotations

import math
from collections.abc import Callable

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.shapes import axis_of, both, dtype_name, floating, reduced, same, sizes_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op

_AXES = "axis=None, keepdim=False, name=None"
_Condition = Callable[[Arguments], bool]


def _has_axes(bound: Arguments) -> bool:
    return bound["axis"] not in ([], ())


def _form(tf: str, when: _Condition = floating) -> tuple[Form, ...]:
    return (Form(f"tf.{tf}(input_tensor=x, axis=axis, keepdims=keepdim)", both(when, _has_axes)),)


def _whole(bound: Arguments) -> bool:
    dtype = tensor(bound["x"]).dtype
    return dtype is not None and not dtype.startswith("float")


def _truths(bound: Arguments) -> bool:
    return tensor(bound["x"]).dtype == "bool"


def _summed(dtype: str | None) -> str | None:
    return "int64" if dtype in {"bool", "int32"} else dtype


def _float(dtype: str | None) -> str | None:
    return dtype if dtype is None or dtype.startswith("float") else "float32"


def _always(name: str) -> Callable[[str | None], str | None]:
    return lambda dtype: name


def _one_axis(bound: Arguments) -> bool:
    return isinstance(bound["axis"], int) and bool(tensor(bound["x"]).rank)


def _cumulated(axis: str) -> Callable[[Arguments], Tensor]:
    def result(bound: Arguments) -> Tensor:
        x, along = tensor(bound["x"]), bound[axis]
        kind = dtype_name(bound["dtype"], x.dtype)
        if x.shape is None:
            return Tensor(None, kind)
        if along is None:
            return Tensor((None if None in x.shape else math.prod(size or 0 for size in x.shape),), kind)
        axis_of(along, len(x.shape))
        return Tensor(x.shape, kind)

    return result


def _topk(bound: Arguments) -> tuple[Tensor, Tensor]:
    x = tensor(bound["x"])
    if x.shape is None:
        return Tensor(None, x.dtype), Tensor(None, "int64")
    axis = axis_of(-1 if bound["axis"] is None else bound["axis"], len(x.shape))
    shape = (*x.shape[:axis], sizes_of(bound["k"])[0], *x.shape[axis + 1 :])
    return Tensor(shape, x.dtype), Tensor(shape, "int64")


def _order(bound: Arguments) -> Tensor:
    return Tensor(same(bound).shape, "int64")


OPS: tuple[Op, ...] = (
    Op(
        "paddle.sum(x, axis=None, dtype=None, keepdim=False, name=None)",
        reduced(_summed),
        _form("reduce_sum"),
        ("sum",),
    ),
    Op(f"paddle.mean(x, {_AXES})", reduced(), _form("reduce_mean"), ("mean",)),
    Op(f"paddle.max(x, {_AXES})", reduced(), _form("reduce_max", _whole), ("max",)),
    Op(f"paddle.min(x, {_AXES})", reduced(), _form("reduce_min", _whole), ("min",)),
    Op(f"paddle.amax(x, {_AXES})", reduced(), _form("reduce_max"), ("amax",)),
    Op(f"paddle.amin(x, {_AXES})", reduced(), _form("reduce_min"), ("amin",)),
    Op("paddle.prod(x, axis=None, keepdim=False, dtype=None, name=None)", reduced(), methods=("prod",)),
    Op(f"paddle.logsumexp(x, {_AXES})", reduced(), _form("reduce_logsumexp"), ("logsumexp",)),
    Op(f"paddle.any(x, {_AXES})", reduced(_always("bool")), _form("reduce_any", _truths), ("any",)),
    Op(f"paddle.all(x, {_AXES})", reduced(_always("bool")), _form("reduce_all", _truths), ("all",)),
    *(
        Op(
            f"paddle.{name}(x, axis=None, keepdim=False, dtype='int64', name=None)",
            lambda bound: Tensor(reduced()({**bound, "dtype": None}).shape, dtype_name(bound["dtype"], "int64")),
            (Form(f"tf.{name}(input=x, axis=axis)", _one_axis),),
            (name,),
        )
        for name in ("argmax", "argmin")
    ),
    *(
        Op(f"paddle.{name}(x, axis=None, unbiased=True, keepdim=False, name=None)", reduced(), methods=(name,))
        for name in ("var", "std")
    ),
    Op("paddle.norm(x, p='fro', axis=None, keepdim=False, name=None)", reduced(), methods=("norm",)),
    Op("paddle.median(x, axis=None, keepdim=False, name=None)", reduced(_float), methods=("median",)),
    Op(f"paddle.count_nonzero(x, {_AXES})", reduced(_always("int64")), methods=("count_nonzero",)),
    Op("paddle.nansum(x, axis=None, dtype=None, keepdim=False, name=None)", reduced(_summed), methods=("nansum",)),
    Op(
        "paddle.cumsum(x, axis=None, dtype=None, name=None)",
        _cumulated("axis"),
        (Form("tf.cumsum(x=x, axis=axis)", both(floating, _one_axis)),),
        ("cumsum",),
    ),
    Op("paddle.cumprod(x, dim=None, dtype=None, name=None)", _cumulated("dim"), methods=("cumprod",)),
    Op("paddle.numel(x, name=None)", lambda bound: Tensor((), "int64"), methods=("numel",)),
    Op("paddle.topk(x, k, axis=None, largest=True, sorted=True, name=None)", _topk, methods=("topk",)),
    Op("paddle.sort(x, axis=-1, descending=False, name=None)", same, methods=("sort",)),
    Op("paddle.argsort(x, axis=-1, descending=False, name=None)", _order, methods=("argsort",)),
)
