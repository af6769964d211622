"""Elementwise ops of two or more tensors."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.conditions import both, both_tensors, floating, list_of_one_dtype, same_dtype
from migrate.source.paddle.ops.shapes import binary, broadcast, like_left, promoted, same, same_float, tensor, tensors
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _arithmetic(name: str, *more: str) -> Op:
    return Op(
        f"paddle.{name}(x, y, name=None)",
        binary,
        (Form(f"tf.{name}(x=x, y=y)", both_tensors),),
        (name,),
        examples=(
            f"paddle.{name}(f_2_3, f_3)",
            f"paddle.{name}(x=f_2_3, y=f_2_1)",
            f"f_2_3.{name}(f_3)",
            f"paddle.{name}(i_2_3, i_3)",
            f"paddle.{name}(f_2_3, d_3)",
            *more,
        ),
    )


def _extreme(name: str, tf: str) -> Op:
    """The larger or smaller element: of equal ones, TensorFlow gives the gradient to its first operand, Paddle to y."""
    return Op(
        f"paddle.{name}(x, y, name=None)",
        like_left,
        (Form(f"tf.{tf}(y, x)", both_tensors),),
        (name,),
        examples=(
            f"paddle.{name}(f_2_3, f_3)",
            f"paddle.{name}(y=f_2_3, x=f_2_3 * f_3)",
            f"f_2_3.{name}(f_2_1)",
            f"paddle.{name}(i_2_3, i_3)",
        ),
    )


def _finite_extreme(name: str) -> Op:
    examples = (f"paddle.{name}(f_2_3, f_3)", f"f_2_3.{name}(f_2_1)", f"paddle.{name}(i_2_3, i_3)")
    return Op(f"paddle.{name}(x, y, name=None)", like_left, methods=(name,), examples=examples)


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


def _whole(name: str, *methods: str) -> Op:
    """Division with rest: without gradient in Paddle, so only integers are left to TensorFlow."""
    tf = {"floor_divide": "tf.math.floordiv"}.get(name, "tf.math.floormod")
    return Op(
        f"paddle.{name}(x, y, name=None)",
        like_left,
        (Form(f"{tf}(x=x, y=y)", lambda bound: both_tensors(bound) and not bound["x"].floating),),
        methods or (name,),
        examples=(
            f"paddle.{name}(i_2_3, i_3 + 1)",
            f"paddle.{name}(f_2_3 + 3, f_3 * f_3 + 1)",
            f"i_2_3.{(methods or (name,))[0]}(y=i_3 + 2)",
        ),
    )


OPS: tuple[Op, ...] = (
    Op(
        "paddle.add_n(inputs, name=None)",
        _added,
        (Form("tf.add_n(inputs=inputs)", _one_dtype),),
        examples=(
            "paddle.add_n([f_2_3, f_2_3 * 2])",
            "paddle.add_n(inputs=[i_2, i_2, i_2])",
            "paddle.add_n(f_2_3)",
        ),
    ),
    _arithmetic("add"),
    _arithmetic("subtract"),
    _arithmetic("multiply", "f_2_3.multiply(y=f_3)"),
    _extreme("maximum", "maximum"),
    _extreme("minimum", "minimum"),
    _finite_extreme("fmax"),
    _finite_extreme("fmin"),
    Op(
        "paddle.divide(x, y, name=None)",
        like_left,
        (Form("tf.divide(x=x, y=y)", both(both_tensors, floating)),),
        ("divide",),
        examples=(
            "paddle.divide(f_2_3, f_3 * f_3 + 1)",
            "f_2_3.divide(y=f_2_1 * f_2_1 + 0.5)",
            "paddle.divide(i_2_3, i_3 + 1)",
        ),
    ),
    _whole("floor_divide"),
    _whole("mod"),
    _whole("remainder"),
    _whole("floor_mod"),
    Op(
        "paddle.pow(x, y, name=None)",
        like_left,
        (Form("tf.pow(x=x, y=y)", both(same_dtype, floating)),),
        ("pow",),
        examples=(
            "paddle.pow(f_2_3, 2)",
            "paddle.pow(x=f_2_3, y=3.0)",
            "f_2_3.pow(2)",
            "paddle.pow(f_2_3 * f_2_3 + 1, f_3)",
            "paddle.pow(i_2_3, 2)",
        ),
    ),
    Op(
        "paddle.atan2(x, y, name=None)",
        _angle,
        methods=("atan2",),
        examples=("paddle.atan2(f_2_3 + 2, f_2_3)", "f_3.atan2(f_3 + 2)", "paddle.atan2(i_3 + 1, i_3 + 1)"),
    ),
    Op(
        "paddle.lerp(x, y, weight, name=None)",
        _between,
        methods=("lerp",),
        examples=("paddle.lerp(f_2_3, f_3, 0.5)", "f_2_3.lerp(f_2_3 * 2, weight=paddle.full([3], 0.25))"),
    ),
    Op(
        "paddle.scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)",
        _scaled,
        methods=("scale",),
        examples=(
            "paddle.scale(f_2_3, scale=0.5)",
            "paddle.scale(f_2_3, 2.0, bias=1.0)",
            "f_2_3.scale(2.0, bias=0.5, bias_after_scale=False)",
            "paddle.scale(i_2_3, scale=2)",
        ),
    ),
    Op(
        "paddle.clip(x, min=None, max=None, name=None)",
        same,
        methods=("clip",),
        examples=(
            "paddle.clip(f_2_3, min=0.25, max=0.5)",
            "paddle.clip(x=f_2_3, max=0.5)",
            "f_2_3.clip(0.5)",
            "i_2_3.clip(min=1)",
        ),
    ),
    Op(
        "paddle.logit(x, eps=None, name=None)",
        same_float,
        methods=("logit",),
        examples=("paddle.logit(f_2_3 * f_2_3 * 0.25 + 0.25)", "paddle.logit(f_2_3, eps=0.1)"),
    ),
)
