"""Elementwise ops of one tensor."""

from __future__ import annotations

from collections.abc import Callable

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.conditions import floating, plain_dtype
from migrate.source.paddle.ops.shapes import dtype_name, same, same_float, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op

_Result = Callable[[Arguments], Tensor]


def made_float(bound: Arguments) -> Tensor:
    """A result like the first argument; integers become float32."""
    x = tensor(bound["x"])
    return Tensor(x.shape, x.dtype if x.dtype is None or x.floating else "float32")


def _truth(bound: Arguments) -> Tensor:
    return Tensor(tensor(bound["x"]).shape, "bool")


def _unary(name: str, tf: str, result: _Result = same_float, *more: str, methods: bool = True) -> Op:
    forms = (Form(f"tf.{tf}(x=x)", floating),) if tf else ()
    examples = (f"paddle.{name}(f_2_3)", *((f"f_2_3.{name}()",) if methods else ()), *more)
    return Op(f"paddle.{name}(x, name=None)", result, forms, (name,) if methods else (), examples=examples)


def _cast(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(x.shape, dtype_name(bound["dtype"]), x.array)


def _stanh(bound: Arguments) -> Tensor:
    return same_float(bound)


OPS: tuple[Op, ...] = (
    _unary("exp", "exp", made_float, "paddle.exp(x=f_2)", "paddle.exp(i_2)"),
    _unary("expm1", "math.expm1", made_float, "paddle.expm1(i_2)"),
    _unary("log", "math.log", made_float, "paddle.log(i_2_3)"),
    _unary("log2", "", made_float),
    _unary("log10", "", made_float),
    _unary("log1p", "math.log1p", made_float, "paddle.log1p(i_2_3)"),
    _unary("sqrt", "sqrt", same_float, "d_2_3.sqrt()"),
    _unary("rsqrt", "math.rsqrt"),
    _unary("square", "square", same, "i_2_3.square()"),
    _unary("tanh", "tanh"),
    _unary("abs", "abs", same, "i_2_3.abs()"),
    _unary("sign", "sign"),
    _unary("neg", "negative", same, "paddle.neg(i_2_3)"),
    _unary("reciprocal", "math.reciprocal"),
    _unary("floor", "floor"),
    _unary("ceil", "math.ceil"),
    _unary("round", ""),
    _unary("frac", "", same, "paddle.frac(i_2)"),
    _unary("sin", "sin"),
    _unary("cos", "cos"),
    _unary("tan", "tan"),
    _unary("asin", "asin"),
    _unary("acos", "acos"),
    _unary("atan", "atan"),
    _unary("sinh", "sinh"),
    _unary("cosh", "cosh"),
    _unary("asinh", "asinh"),
    _unary("acosh", "acosh"),
    _unary("atanh", "atanh"),
    _unary("erf", "math.erf"),
    _unary("erfinv", "math.erfinv"),
    _unary("lgamma", "math.lgamma"),
    _unary("digamma", "math.digamma"),
    _unary("isnan", "math.is_nan", _truth, "paddle.isnan(i_2)"),
    _unary("isinf", "math.is_inf", _truth, "i_2.isinf()"),
    _unary("isfinite", "math.is_finite", _truth, "paddle.isfinite(i_2)"),
    Op(
        "paddle.trunc(input, name=None)",
        same,
        methods=("trunc",),
        examples=("paddle.trunc(f_2_3)", "f_2_3.trunc()", "i_2.trunc()"),
    ),
    Op(
        "paddle.stanh(x, scale_a=0.67, scale_b=1.7159, name=None)",
        _stanh,
        methods=("stanh",),
        examples=("paddle.stanh(f_2_3)", "paddle.stanh(f_2_3, scale_a=0.5)", "f_2_3.stanh(0.5, 1.5)"),
    ),
    Op(
        "paddle.increment(x, value=1.0, name=None)",
        same,
        examples=("paddle.increment(paddle.to_tensor([1.0]))", "paddle.increment(paddle.to_tensor([1]), value=2)"),
    ),
    *(
        Op(f"paddle.Tensor.{name}(x)", same, (Form("x"),), (name,), helper="assign", examples=(f"f_2_3.{name}()",))
        for name in ("cpu", "contiguous")
    ),
    Op(
        "paddle.cast(x, dtype)",
        _cast,
        (Form("tf.cast(x=x, dtype=dtype)", plain_dtype),),
        ("cast", "astype"),
        examples=(
            "paddle.cast(f_2_3, 'int64')",
            "paddle.cast(x=i_2_3, dtype='float32')",
            "i_2_3.astype('float64')",
            "f_2_3.cast(dtype=paddle.int32)",
            "b_2.astype('float32')",
            "f_2_3.astype('bool')",
            "f_2_3.astype(int)",
            "i_2.astype('float')",
            "f_2_3.astype(dtype=paddle.float64)",
        ),
    ),
)
