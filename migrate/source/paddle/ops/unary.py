"""Elementwise ops of one tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.conditions import floating, plain_dtype
from migrate.source.paddle.ops.shapes import dtype_name, same, same_float, tensor, truth
from migrate.source.paddle.ops.spec import Arguments, Form, Op

_Result = Callable[[Arguments], Tensor]


def made_float(bound: Arguments) -> Tensor:
    """A result like the first argument; integers become float32."""
    x = tensor(bound["x"])
    return Tensor(x.shape, x.dtype if x.dtype is None or x.floating else "float32")


def _unary(result: _Result, functions: str) -> Iterator[Op]:
    """Yield ops of one tensor by TensorFlow's names; before `=`, Paddle's if it is another; after it, none is."""
    for function in functions.split():
        name, _, tf = function.rpartition("=") if "=" in function else ("", "", function)
        name = name or tf.rpartition(".")[2]
        yield Op(f"paddle.{name}(x, name=None)", result, (Form(f"tf.{tf}(x=x)", floating),) if tf else (), (name,))


def _cast(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(x.shape, dtype_name(bound["dtype"]), x.array)


OPS: tuple[Op, ...] = (
    *_unary(made_float, "exp math.expm1 math.log log2= log10= math.log1p"),
    *_unary(same_float, "sqrt math.rsqrt tanh sign math.reciprocal floor math.ceil round= sin cos tan asin acos atan"),
    *_unary(same_float, "sinh cosh asinh acosh atanh math.erf math.erfinv math.lgamma math.digamma"),
    *_unary(same, "square abs neg=negative frac="),
    *_unary(truth, "isnan=math.is_nan isinf=math.is_inf isfinite=math.is_finite"),
    Op("paddle.trunc(input, name=None)", same, methods=("trunc",)),
    Op("paddle.stanh(x, scale_a=0.67, scale_b=1.7159, name=None)", same_float, methods=("stanh",)),
    Op("paddle.increment(x, value=1.0, name=None)", same),
    *(Op(f"paddle.Tensor.{name}(x)", same, (Form("x"),), (name,), helper="assign") for name in ("cpu", "contiguous")),
    Op("paddle.cast(x, dtype)", _cast, (Form("tf.cast(x=x, dtype=dtype)", plain_dtype),), ("cast", "astype")),
)
