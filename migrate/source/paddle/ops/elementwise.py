"""Elementwise ops of one or more tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.shapes import (
    binary,
    both,
    both_tensors,
    broadcast,
    dtype_name,
    floating,
    like_left,
    list_of_one_dtype,
    plain_dtype,
    promoted,
    same,
    same_dtype,
    same_float,
    tensor,
    tensors,
    truth,
)
from migrate.source.paddle.ops.spec import Arguments, Form, Op, method


def _arithmetic(name: str) -> Op:
    return Op(f"paddle.{name}(x, y, name=None)", binary, (Form(f"tf.{name}(x=x, y=y)", both_tensors),), (name,))


def _extreme(name: str) -> Op:
    """The larger or smaller element: of equal ones, TensorFlow gives the gradient to its first operand, Paddle to y."""
    return Op(f"paddle.{name}(x, y, name=None)", like_left, (Form(f"tf.{name}(y, x)", both_tensors),), (name,))


def _added(bound: Arguments) -> Tensor:
    if isinstance(bound["inputs"], Tensor):
        return Tensor(bound["inputs"].shape, bound["inputs"].dtype)
    parts = tensors(bound["inputs"])
    return Tensor(broadcast(*[part.shape for part in parts]), parts[0].dtype)


def _one_dtype(bound: Arguments) -> bool:
    return list_of_one_dtype(bound["inputs"])


def _angle(bound: Arguments) -> Tensor:
    result = like_left(bound)
    return Tensor(result.shape, result.dtype if result.dtype is None or result.floating else "float64")


def _between(bound: Arguments) -> Tensor:
    x, y, weight = (bound[name] for name in ("x", "y", "weight"))
    return Tensor(broadcast(tensor(x).shape, tensor(y).shape, tensor(weight).shape), promoted(x, y))


def _scaled(bound: Arguments) -> Tensor:
    if isinstance(bound["scale"], Tensor) and bound["scale"].shape not in ((), (1,)):
        raise Refuse("`paddle.scale` scales by a number or a tensor of one element; use `paddle.multiply`")
    return same(bound)


def _whole(name: str) -> Op:
    """Division with rest: without gradient in Paddle, so only integers are left to TensorFlow."""
    tf = {"floor_divide": "tf.math.floordiv"}.get(name, "tf.math.floormod")
    return Op(
        f"paddle.{name}(x, y, name=None)",
        like_left,
        (Form(f"{tf}(x=x, y=y)", lambda bound: both_tensors(bound) and not bound["x"].floating),),
        (name,),
    )


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
    Op("paddle.add_n(inputs, name=None)", _added, (Form("tf.add_n(inputs=inputs)", _one_dtype),)),
    *map(_arithmetic, ("add", "subtract", "multiply")),
    *map(_extreme, ("maximum", "minimum")),
    *(Op(f"paddle.{name}(x, y, name=None)", like_left, methods=(name,)) for name in ("fmax", "fmin")),
    method("divide(x, y, name=None)", like_left, "tf.divide(x=x, y=y)", both(both_tensors, floating)),
    *map(_whole, ("floor_divide", "mod", "remainder", "floor_mod")),
    Op("paddle.pow(x, y, name=None)", like_left, (Form("tf.pow(x=x, y=y)", both(same_dtype, floating)),), ("pow",)),
    Op("paddle.atan2(x, y, name=None)", _angle, methods=("atan2",)),
    Op("paddle.lerp(x, y, weight, name=None)", _between, methods=("lerp",)),
    Op("paddle.scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)", _scaled, methods=("scale",)),
    Op("paddle.clip(x, min=None, max=None, name=None)", same, methods=("clip",)),
    Op("paddle.logit(x, eps=None, name=None)", same_float, methods=("logit",)),
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
