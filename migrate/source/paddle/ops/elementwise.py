"""Elementwise ops of one or two tensors."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.conditions import both, both_tensors, floating, list_of_one_dtype, same_dtype
from migrate.source.paddle.ops.shapes import binary, broadcast, dtype_name, promoted, same, tensor, tensors
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _unary(name: str, tf: str, *examples: str) -> Op:
    return Op(f"paddle.{name}(x, name=None)", same, (Form(f"{tf}(x=x)", floating),), (name,), examples=examples)


def _binary(name: str, tf: str) -> Op:
    forms = (Form(f"{tf}(x=x, y=y)", both_tensors),)
    return Op(f"paddle.{name}(x, y, name=None)", binary, forms, (name,), examples=(f"paddle.{name}(f_2_3, f_3)",))


def _divided(bound: Arguments) -> Tensor:
    left, right = bound["x"], bound["y"]
    kind = promoted(left, right)
    floats = kind if kind is None or kind.startswith("float") else "float32"
    return Tensor(broadcast(tensor(left).shape, tensor(right).shape), floats)


def _cast(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(x.shape, dtype_name(bound["dtype"]), x.array)


def _added(bound: Arguments) -> Tensor:
    parts = tensors(bound["inputs"])
    return Tensor(broadcast(*[part.shape for part in parts]), parts[0].dtype)


def _one_dtype(bound: Arguments) -> bool:
    return list_of_one_dtype(bound["inputs"])


OPS: tuple[Op, ...] = (
    Op("paddle.add_n(inputs, name=None)", _added, (Form("tf.add_n(inputs=inputs)", _one_dtype),)),
    _unary("exp", "tf.exp"),
    _unary("log", "tf.math.log"),
    _unary("square", "tf.square"),
    _unary("sqrt", "tf.sqrt"),
    _unary("tanh", "tf.tanh"),
    _unary("abs", "tf.abs"),
    _unary("sign", "tf.sign"),
    _unary("log1p", "tf.math.log1p"),
    Op("paddle.log2(x, name=None)", same, methods=("log2",)),
    _binary("add", "tf.add"),
    _binary("subtract", "tf.subtract"),
    _binary("multiply", "tf.multiply"),
    _binary("maximum", "tf.maximum"),
    _binary("minimum", "tf.minimum"),
    Op(
        "paddle.divide(x, y, name=None)",
        _divided,
        (Form("tf.divide(x=x, y=y)", both(both_tensors, floating)),),
        ("divide",),
        examples=("paddle.divide(f_2_3, f_3)",),
    ),
    Op("paddle.pow(x, y, name=None)", binary, (Form("tf.pow(x=x, y=y)", both(same_dtype, floating)),), ("pow",)),
    Op("paddle.mod(x, y, name=None)", binary, methods=("mod",)),
    Op("paddle.scale(x, scale=1.0, bias=0.0, bias_after_scale=True, act=None, name=None)", same, methods=("scale",)),
    Op("paddle.clip(x, min=None, max=None, name=None)", same, methods=("clip",)),
    Op("paddle.cast(x, dtype)", _cast, (Form("tf.cast(x=x, dtype=dtype)"),), ("cast", "astype")),
)
