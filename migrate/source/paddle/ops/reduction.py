"""Ops that reduce dimensions, or run along one."""

from __future__ import annotations

import math
from collections.abc import Callable

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.conditions import both, floating
from migrate.source.paddle.ops.shapes import axis_of, dtype_name, reduced, tensor
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


def _multiplied(dtype: str | None) -> str | None:
    return dtype


def _float(dtype: str | None) -> str | None:
    return dtype if dtype is None or dtype.startswith("float") else "float32"


def _truth(dtype: str | None) -> str | None:
    return "bool"


def _count(dtype: str | None) -> str | None:
    return "int64"


def _position(bound: Arguments) -> Tensor:
    return Tensor(reduced()({**bound, "dtype": None}).shape, dtype_name(bound["dtype"], "int64"))


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


def _numel(bound: Arguments) -> Tensor:
    return Tensor((), "int64")


def _plain(name: str, *more: str) -> tuple[str, ...]:
    call = f"paddle.{name}"
    return (
        f"{call}(f_2_3, axis=1)",
        f"{call}(f_2_3)",
        f"{call}(x=f_2_3_4, axis=[0, -1], keepdim=True)",
        f"f_2_3.{name}(axis=0, keepdim=True)",
        *more,
    )


OPS: tuple[Op, ...] = (
    Op(
        "paddle.sum(x, axis=None, dtype=None, keepdim=False, name=None)",
        reduced(_summed),
        _form("reduce_sum"),
        ("sum",),
        examples=_plain(
            "sum",
            "paddle.sum(i_2_3)",
            "paddle.sum(f_2_3, [])",
            "f_2_3.sum(1)",
            "f_2_3.sum(-1, keepdim=True)",
            "b_2_3.sum(axis=0)",
            "paddle.sum(j_2_3, -1)",
            "paddle.sum(i_2_3, dtype='float32')",
        ),
    ),
    Op(
        f"paddle.mean(x, {_AXES})",
        reduced(),
        _form("reduce_mean"),
        ("mean",),
        examples=_plain("mean", "f_2_3.mean()", "paddle.mean(d_2_3, -1)"),
    ),
    Op(
        f"paddle.max(x, {_AXES})",
        reduced(),
        _form("reduce_max", _whole),
        ("max",),
        examples=_plain("max", "i_2_3.max()"),
    ),
    Op(
        f"paddle.min(x, {_AXES})",
        reduced(),
        _form("reduce_min", _whole),
        ("min",),
        examples=_plain("min", "i_2_3.min(1)"),
    ),
    Op(f"paddle.amax(x, {_AXES})", reduced(), _form("reduce_max"), ("amax",), examples=_plain("amax")),
    Op(f"paddle.amin(x, {_AXES})", reduced(), _form("reduce_min"), ("amin",), examples=_plain("amin")),
    Op(
        "paddle.prod(x, axis=None, keepdim=False, dtype=None, name=None)",
        reduced(_multiplied),
        methods=("prod",),
        examples=_plain("prod", "paddle.prod(j_2_3)", "i_2_3.prod()", "paddle.prod(f_2_3, 0, dtype='float64')"),
    ),
    Op(
        f"paddle.logsumexp(x, {_AXES})",
        reduced(),
        _form("reduce_logsumexp"),
        ("logsumexp",),
        examples=_plain("logsumexp"),
    ),
    Op(
        f"paddle.any(x, {_AXES})",
        reduced(_truth),
        _form("reduce_any", _truths),
        ("any",),
        examples=("paddle.any(b_2_3, axis=1)", "paddle.any(b_2_3)", "b_2_3.any(0, keepdim=True)"),
    ),
    Op(
        f"paddle.all(x, {_AXES})",
        reduced(_truth),
        _form("reduce_all", _truths),
        ("all",),
        examples=("paddle.all(b_2_3, axis=1)", "paddle.all(b_2_3)", "b_2_3.all(0, keepdim=True)"),
    ),
    *(
        Op(
            f"paddle.{name}(x, axis=None, keepdim=False, dtype='int64', name=None)",
            _position,
            (Form(f"tf.{name}(input=x, axis=axis)", _one_axis),),
            (name,),
            examples=(
                f"paddle.{name}(f_2_3, axis=1)",
                f"paddle.{name}(f_2_3)",
                f"f_2_3.{name}(-1)",
                f"paddle.{name}(x=f_2_3, axis=0, keepdim=True)",
                f"f_2_3.{name}(axis=1, dtype='int32')",
            ),
        )
        for name in ("argmax", "argmin")
    ),
    *(
        Op(
            f"paddle.{name}(x, axis=None, unbiased=True, keepdim=False, name=None)",
            reduced(),
            methods=(name,),
            examples=_plain(name, f"paddle.{name}(f_2_3, 1, False)"),
        )
        for name in ("var", "std")
    ),
    Op(
        "paddle.norm(x, p='fro', axis=None, keepdim=False, name=None)",
        reduced(),
        methods=("norm",),
        examples=(
            "paddle.norm(f_2_3 + 2)",
            "paddle.norm(f_2_3 + 2, axis=1, keepdim=True)",
            "f_2_3.norm(p=1, axis=-1)",
            "paddle.norm(f_2_3 + 2, p=3, axis=0)",
            "paddle.norm(x=f_2_3, p=2, axis=1)",
        ),
    ),
    Op(
        "paddle.median(x, axis=None, keepdim=False, name=None)",
        reduced(_float),
        methods=("median",),
        examples=("paddle.median(f_2_3, axis=1)", "paddle.median(d_2_3)", "i_2_3.median(axis=0, keepdim=True)"),
    ),
    Op(
        f"paddle.count_nonzero(x, {_AXES})",
        reduced(_count),
        methods=("count_nonzero",),
        examples=("paddle.count_nonzero(f_2_3, axis=1)", "i_2_3.count_nonzero()"),
    ),
    Op(
        "paddle.nansum(x, axis=None, dtype=None, keepdim=False, name=None)",
        reduced(_summed),
        methods=("nansum",),
        examples=("paddle.nansum(f_2_3, axis=1)", "f_2_3.nansum()"),
    ),
    Op(
        "paddle.cumsum(x, axis=None, dtype=None, name=None)",
        _cumulated("axis"),
        (Form("tf.cumsum(x=x, axis=axis)", both(floating, _one_axis)),),
        ("cumsum",),
        examples=(
            "paddle.cumsum(f_2_3, axis=1)",
            "paddle.cumsum(x=f_2_3)",
            "f_2_3.cumsum(-2)",
            "paddle.cumsum(i_2_3, 0)",
            "paddle.cumsum(j_2_3, 1, dtype='float64')",
        ),
    ),
    Op(
        "paddle.cumprod(x, dim=None, dtype=None, name=None)",
        _cumulated("dim"),
        methods=("cumprod",),
        examples=("paddle.cumprod(f_2_3 + 2, dim=1)", "f_2_3.cumprod(0)"),
    ),
    Op("paddle.numel(x, name=None)", _numel, methods=("numel",), examples=("paddle.numel(f_2_3)", "i_2.numel()")),
)
