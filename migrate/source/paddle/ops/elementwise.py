"""Elementwise ops of two or more tensors."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.conditions import both, both_tensors, floating, list_of_one_dtype, same_dtype
from migrate.source.paddle.ops.shapes import binary, broadcast, like_left, promoted, same, same_float, tensor, tensors
from migrate.source.paddle.ops.spec import Arguments, Form, Op


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


OPS: tuple[Op, ...] = (
    Op("paddle.add_n(inputs, name=None)", _added, (Form("tf.add_n(inputs=inputs)", _one_dtype),)),
    *map(_arithmetic, ("add", "subtract", "multiply")),
    *map(_extreme, ("maximum", "minimum")),
    *(Op(f"paddle.{name}(x, y, name=None)", like_left, methods=(name,)) for name in ("fmax", "fmin")),
    Op(
        "paddle.divide(x, y, name=None)",
        like_left,
        (Form("tf.divide(x=x, y=y)", both(both_tensors, floating)),),
        ("divide",),
    ),
    *map(_whole, ("floor_divide", "mod", "remainder", "floor_mod")),
    Op("paddle.pow(x, y, name=None)", like_left, (Form("tf.pow(x=x, y=y)", both(same_dtype, floating)),), ("pow",)),
    Op("paddle.atan2(x, y, name=None)", _angle, methods=("atan2",)),
    Op("paddle.lerp(x, y, weight, name=None)", _between, methods=("lerp",)),
    Op("paddle.scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)", _scaled, methods=("scale",)),
    Op("paddle.clip(x, min=None, max=None, name=None)", same, methods=("clip",)),
    Op("paddle.logit(x, eps=None, name=None)", same_float, methods=("logit",)),
)
